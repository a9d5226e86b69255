#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""pack-tables.py CROSS DIR OBJECT...: takes the tables out of DIR/OBJECT.o.

Their sections become parts of .bss.  What they had is written to stdout, as C: compressed by lz4,
with the positions of what the linker would have relocated.  Those are distances from a table of
a switch to a place in the code of the object: what unpacks them adds the distance of the two
sections.  A section with other relocations is left as it is.
"""
import re
import struct
import subprocess
import sys

cross, folder, *names = sys.argv[1:]
tables = []


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def relocations(path):
    """Those of each section: offset, type, symbol and what is added."""
    of, section = {}, None
    for line in run(f"{cross}readelf", "-rW", path).decode().splitlines():
        if line.startswith("Relocation section"):
            section = of.setdefault(re.search(r"'\.rela(\S+)'", line)[1], [])
        elif re.match(r"[0-9a-f]{16} ", line):
            offset, _, kind, _, symbol, sign, added = (line.split() + ["", ""])[:7]
            section.append((int(offset, 16), kind, symbol, int(added or "0", 16) * (-1 if sign == "-" else 1)))
    return of


for name in names:
    path = f"{folder}/{name}.o"
    change = []
    for section, its in ((".rodata", "rodata"), (".data", "data")):
        moved = relocations(path).get(section, [])
        if any(kind not in ("R_X86_64_PC32", "R_AARCH64_PREL32") or symbol != ".text" for _, kind, symbol, _ in moved):
            continue
        run(f"{cross}objcopy", "-O", "binary", "-j", section, path, f"{path}.raw")
        with open(f"{path}.raw", "rb") as file:
            raw = bytearray(file.read())
        if not raw:
            continue
        for offset, _, _, added in moved:
            struct.pack_into("<i", raw, offset, added - offset)
        # The legacy format of lz4: a magic number, and one block after its length.
        packed = subprocess.run(["lz4", "-q", "-l", "-12", "-c"], input=raw, stdout=subprocess.PIPE, check=True).stdout[8:]
        table = f"{name}_{its}"
        text = "".join(f"\\{byte:03o}" for byte in packed)
        offsets = ", ".join(str(offset) for offset, *_ in moved)
        print(f'extern char {table}[], {name}_text[];\nstatic const char packed_{table}[] = "{text}";')
        print(f"static const unsigned int moved_{table}[] = {{{offsets or 0}}};")
        tables.append(f"\t{{{table}, {len(raw)}, packed_{table}, {len(packed)}, {name}_text, moved_{table}, {len(moved)}}},")
        change += [f"--remove-relocations={section}", f"--rename-section={section}=.bss.{its},alloc",
                   f"--add-symbol={table}=.bss.{its}:0,global"]
    run(f"{cross}objcopy", *change, f"--add-symbol={name}_text=.text:0,global", path)
print("static const struct table tables[] = {", *tables, "};", sep="\n")
