/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * userfuncs: from a name or a glob to functions of a program or library, as
 * uprobes take them: a file, and an offset in it.
 *
 * TARGET is "FILE:FUNCTION", cut at its first colon.
 *
 * FILE is a path, a library's name or a program's (binary.h).
 *
 * FUNCTION is a name or a glob over the names in the symbol tables as they are
 * there: those of C++ and Rust are mangled ("_ZN*send*").  What follows an '@'
 * is a symbol's version: a name stands for all its versions, which may be
 * several functions.
 */
#ifndef PLUMB_USERFUNCS_H
#define PLUMB_USERFUNCS_H

#include <stddef.h>
#include <stdint.h>

struct plumb_userfunc {
	char *name;      /* without its version */
	uint64_t offset; /* in the file, of the function's first byte */
};

struct plumb_userfuncs {
	char *path; /* as it was given, or as it was found, links resolved */
	struct plumb_userfunc *list;
	size_t n;
};

/*
 * By rising offset, each offset once: of a function's several names that a glob
 * matches the shortest is taken.  Functions that the linker chooses among at
 * run time (STT_GNU_IFUNC: memcpy and the like) are left out, since none of
 * their offsets is theirs, and with them older versions of their names.
 * Returns 0 with one at least, or -errno after saying what is wrong, with names
 * that are near; FOUND is empty then.
 */
int plumb_userfuncs_find(const char *target, struct plumb_userfuncs *found);
void plumb_userfuncs_free(struct plumb_userfuncs *found);

#endif
