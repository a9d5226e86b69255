#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes bpftool's skeleton, on stdin, with its BPF object compressed by lz4: a third of the size.

The object is the result of a function at the end of the skeleton, which unpacks it when it is first
called (plumb/core/unpack.h).
"""
import re
import struct
import subprocess
import sys

with open(sys.argv[1], "rb") as file:
    content = file.read()
# The legacy format: a magic number, and each 8 MiB as a block after its length.
frame = subprocess.run(["lz4", "-q", "-l", "-12", "-c"], input=content, stdout=subprocess.PIPE, check=True).stdout
packed = frame[8:]
if len(content) > 8 << 20 or struct.unpack_from("<I", frame, 4)[0] != len(packed):
    sys.exit("pack-skeleton: not one block")
lines = "\n".join('\t\t"' + "".join(f"\\{byte:03o}" for byte in packed[at:at + 24]) + '"'
                  for at in range(0, len(packed), 24))
body = f"""{{
	static const char packed[] =
{lines};
	static const void *bytes;

	*sz = {len(content)};
	bytes = bytes ?: plumb_unpack(packed, {len(packed)}, *sz);
	return bytes;
}}
"""
skeleton, n = re.subn(r"(static inline const void \*\w+__elf_bytes\(size_t \*sz\)\n)\{.*?\n\}\n",
                      lambda found: found[1] + body, sys.stdin.read(), count=1, flags=re.DOTALL)
if n != 1:
    sys.exit("pack-skeleton: bpftool's skeleton has no function __elf_bytes that is known here")
print(skeleton.replace("#include <bpf/libbpf.h>", "#include <bpf/libbpf.h>\n#include <plumb/core/unpack.h>", 1), end="")
