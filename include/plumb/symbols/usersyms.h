/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* usersyms: the function symbols of a file, of its debug file and of .gnu_debugdata. */
#pragma once

#include <plumb/symbols/elffile.h>

struct plumb_usersym {
	const char *name;    /* may be followed by '@' and the version */
	size_t length;       /* of the name without its version */
	const char *version; /* NULL: none */
	uint64_t address;
	uint64_t offset; /* in the file */
	uint64_t size;   /* bytes; 0: unknown */
	bool is_ifunc;
};

struct plumb_usersyms {
	struct plumb_usersym *all; /* by offset, then by length and name */
	size_t n;
	bool whole; /* a .symtab was among the tables */
	/* What the names point into. */
	Elf *debug, *mini;
	int debug_fd; /* -ESTALE: the debug file is another's */
	bool is_debug_file;
	char *image;
};

/*
 * Reads the functions (STT_FUNC and STT_GNU_IFUNC) that are defined in code of FILE.  Damaged
 * tables are skipped.  The caller frees SYMS before FILE is closed.
 */
void plumb_usersyms_read(const struct plumb_elf *file, struct plumb_usersyms *syms);
void plumb_usersyms_free(struct plumb_usersyms *syms);
/* Opens the file's debug file; its descriptor, or -errno. */
int plumb_usersyms_open_debug(const struct plumb_elf *file);
