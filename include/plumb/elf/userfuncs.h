/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * userfuncs: the functions of a program or library that match a name or a glob, as uprobe targets:
 * a file and an offset in it.
 *
 * TARGET is "FILE:FUNCTION", cut at its first colon.
 *
 * FILE is a path, a library's name or a program's (binary.h).
 *
 * FUNCTION is a name or a glob, matched with the names in the symbol tables; those of C++ and Rust
 * are mangled ("_ZN*send*").  The version of a symbol, after '@', is ignored: a name matches all
 * its versions, which may be several functions.
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
	char *path; /* as given, or as found by plumb_binary_find() */
	struct plumb_userfunc *list;
	size_t n;
};

/*
 * Sorted by ascending offset, each offset once; if a glob matches several names of a function, the
 * shortest is used.  Functions whose implementation the dynamic linker selects at run time
 * (STT_GNU_IFUNC, such as memcpy) are omitted, because their symbol is the resolver's.  Functions
 * that are older versions of such a name are omitted too.  Returns 0 with at least one, or -errno
 * after a message with suggestions; FOUND is empty then.
 */
int plumb_userfuncs_find(const char *target, struct plumb_userfuncs *found);
void plumb_userfuncs_free(struct plumb_userfuncs *found);

#endif
