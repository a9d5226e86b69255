/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dwarffile: the debug information (DWARF) of a file, opened with care. */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

struct plumb_dwarf {
	Elf *elf;
	Dwarf *dwarf;
};

/* Reads the debug information of FD, which stays the caller's; false: none that can be used. */
bool plumb_dwarf_open(int fd, struct plumb_dwarf *file);
void plumb_dwarf_close(struct plumb_dwarf *file);

/* The name of a function, mangled if it has such a name; NULL: none. */
const char *plumb_dwarf_name(Dwarf_Die *die);

/* The number of compilation units, for the progress of reading them. */
size_t plumb_dwarf_count_units(Dwarf *dwarf);
