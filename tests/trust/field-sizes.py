#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""field-sizes.py TYPES OBJECT...: fields of the kernel that BPF programs read in a wrong size.

TYPES is the BTF of a kernel.  When a program is loaded, libbpf corrects the offset of a field, and
the size of a load.  It does not correct the size that is passed to bpf_probe_read_kernel(), which
BPF_CORE_READ() takes from the type at compile time, as BPF_CORE_READ_BITFIELD_PROBED() does not.
Fields that TYPES lacks are left out: programs ask whether they exist.
"""
import struct
import sys

(INT, PTR, ARRAY, STRUCT, UNION, ENUM, _, TYPEDEF, VOLATILE, CONST, RESTRICT, _, PROTO, VAR, DATASEC,
 _, TAG, TYPE_TAG, ENUM64) = range(1, 20)
BYTES_BEHIND = {INT: 4, ARRAY: 12, VAR: 4, TAG: 4}
BYTES_EACH = {STRUCT: 12, UNION: 12, ENUM: 8, PROTO: 8, DATASEC: 12, ENUM64: 12}
BYTE_OFFSET, BYTE_SIZE, LSHIFT_U64 = 0, 1, 4  # enum bpf_core_relo_kind
LOADS = 1                      # the class of an instruction


class Types:
    """What struct btf_header in linux/btf.h describes."""

    def __init__(self, data):
        _, _, _, header, types, n_types, strings, n_strings = struct.unpack_from("<HBB5I", data)
        self.strings = data[header + strings:header + strings + n_strings]
        self.all, self.named = [(0, 0, 0, b"")], {}
        at, end = header + types, header + types + n_types
        while at < end:
            name, info, size = struct.unpack_from("<3I", data, at)
            kind, n = info >> 24 & 0x1f, info & 0xffff
            behind = BYTES_BEHIND.get(kind, 0) + n * BYTES_EACH.get(kind, 0)
            if kind in (STRUCT, UNION):
                self.named.setdefault(self.string(name), []).append(len(self.all))
            self.all.append((name, kind | info & 1 << 31, size, data[at + 12:at + 12 + behind]))
            at += 12 + behind

    def string(self, offset):
        return self.strings[offset:self.strings.index(b"\0", offset)].decode()

    def plain(self, i):
        """Without typedefs and qualifiers: its number and kind."""
        while self.all[i][1] & 0x1f in (TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG):
            i = self.all[i][2]
        return i, self.all[i][1] & 0x1f

    def size(self, i):
        i, kind = self.plain(i)
        if kind == ARRAY:
            of, _, n = struct.unpack("<3I", self.all[i][3])
            return n * self.size(of)
        return 8 if kind == PTR else self.all[i][2]

    def members(self, i):
        """Name, type and whether it is a bit field."""
        for name, of, offset in struct.iter_unpack("<3I", self.all[i][3]):
            yield self.string(name), of, bool(self.all[i][1] >> 31 and offset >> 24)

    def path(self, i, steps):
        """The names on the way from type I, [] for an element, the field's type, if it has bits."""
        names, bits = [], False
        for step in steps:
            i, kind = self.plain(i)
            if kind == ARRAY:
                i, name = struct.unpack_from("<I", self.all[i][3])[0], "[]"
            else:
                name, i, bits = list(self.members(i))[step]
            names += [name] if name else []
        return names, i, bits

    def find(self, i, names):
        """The type of the field of that path, and if it has bits; None: there is none."""
        i, kind = self.plain(i)
        if not names:
            return i, False
        if kind == ARRAY:
            return names[0] == "[]" and self.find(struct.unpack_from("<I", self.all[i][3])[0], names[1:]) or None
        for name, of, bits in self.members(i) if kind in (STRUCT, UNION) else ():
            found = self.find(of, names[name != "":]) if name in ("", names[0]) else None
            if found:
                return found[0], found[1] or bits and len(names) == 1
        return None


def sections(data):
    """Those of an ELF file of 64 bits."""
    at, = struct.unpack_from("<Q", data, 40)
    each, n, names = struct.unpack_from("<3H", data, 58)
    heads = [struct.unpack_from("<2I4Q", data, at + i * each) for i in range(n)]

    def content(head):
        return data[head[4]:head[4] + head[5]]
    texts = content(heads[names])
    return {texts[h[0]:texts.index(b"\0", h[0])].decode(): content(h) for h in heads}


def relocations(types, parts):
    """Section, offset of the instruction, type, access and kind of each."""
    ext = parts[".BTF.ext"]
    header, = struct.unpack_from("<I", ext, 4)
    start, length = struct.unpack_from("<2I", ext, 24)
    at, end = header + start + 4, header + start + length
    while at < end:
        section, n = struct.unpack_from("<2I", ext, at)
        for i in range(n):
            offset, of, access, kind = struct.unpack_from("<4I", ext, at + 8 + 16 * i)
            yield types.string(section), offset, of, types.string(access), kind
        at += 8 + 16 * n


def wrong(kernel, name):
    with open(name, "rb") as file:
        parts = sections(file.read())
    types = Types(parts[".BTF"])
    every = list(relocations(types, parts))
    sized = {(of, access) for _, _, of, access, kind in every if kind in (BYTE_SIZE, LSHIFT_U64)}
    for section, offset, of, access, kind in every:
        if kind != BYTE_OFFSET or (of, access) in sized or parts[section][offset] & 7 == LOADS:
            continue
        base, _ = types.plain(of)
        record = types.string(types.all[base][0])
        names, field, _ = types.path(base, [int(step) for step in access.split(":")[1:]])
        if not names or types.plain(field)[1] in (STRUCT, UNION):
            continue
        size, is_text = types.size(field), types.plain(field)[1] == ARRAY
        for there in kernel.named.get(record.split("___")[0], ()):
            found = kernel.find(there, names)
            if not found:
                continue
            is_of = kernel.size(found[0])
            if found[1] or (size > is_of > 0 if is_text else size != is_of):
                yield f"{record}.{'.'.join(names)}: {'bits' if found[1] else is_of}, not {size}"
            break


with open(sys.argv[1], "rb") as file:
    TARGET = Types(file.read())
for program in sys.argv[2:]:
    for line in sorted(set(wrong(TARGET, program))):
        print(f"{program.split('/')[-1].split('.')[0]}: {line}")
