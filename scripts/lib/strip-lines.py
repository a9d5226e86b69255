#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Takes the line information out of a BPF object's .BTF.ext, read from and written to a file.

It is a third of an object, for the verifier to print source lines beside the instructions.  The
functions' types and CO-RE relocations, which are in the same section, stay.
The layout is that of struct btf_ext_header in libbpf: a header, then the three parts at the
offsets and of the lengths that it tells.
"""
import struct
import sys

FIXED = "<HBBI"  # magic, version, flags, length of the header
PARTS = "<6I"    # offset and length of function, line and relocation information


def strip(old):
    magic, version, flags, header = struct.unpack_from(FIXED, old)
    functions, n_functions, _, _, relocations, n_relocations = struct.unpack_from(PARTS, old, 8)
    if magic != 0xeB9F or header < 32:
        sys.exit("strip-lines: not a .BTF.ext section that is known here")

    def part(offset, length):
        return old[header + offset:header + offset + length]

    kept = part(functions, n_functions)
    parts = struct.pack(PARTS, 0, len(kept), len(kept), 0, len(kept), n_relocations)
    return (struct.pack(FIXED, magic, version, flags, 32) + parts + kept
            + part(relocations, n_relocations))


with open(sys.argv[1], "rb") as section:
    content = strip(section.read())
with open(sys.argv[1], "wb") as section:
    section.write(content)
