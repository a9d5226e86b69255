/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * functions: finds functions of the running kernel by name or glob.
 *
 * A pattern is NAME or a glob (tcp_*), optionally after the name of a loaded
 * module ("nf_tables:nft_*"); the kernel itself is "vmlinux:".
 *
 * A name matches all functions of that name; static functions of several files
 * can share one.  If there is none, it matches all functions that the compiler
 * derived from it (.isra.N, .constprop.N, .part.N, .llvm.N and similar), and
 * .cold parts only if there is nothing else.
 *
 * A glob is matched with names as in the source, so that tcp_* and *_sendmsg
 * also match tcp_sendmsg.isra.0; a glob with a dot is matched with whole names.
 * It never matches .cold parts, stubs of compiler and linker (__pfx_*,
 * __SCT__*, ...), code for boot only, or functions known not to be traceable.
 */
#pragma once

#include <plumb/core/attaching.h>

/*
 * Finds the functions that match the patterns, each address once.  Types are from BTF_FILE; NULL:
 * from the kernel, if it has BTF.  Warns if a name has several functions, and if the compiler
 * changed a function's signature.  Returns 0, or -errno after a message with suggestions; FOUND is
 * empty then.
 */
int plumb_functions_find(const char *const *patterns, size_t n, const char *btf_file,
			 struct plumb_functions *found);
void plumb_functions_free(struct plumb_functions *found);

/*
 * The next search also finds this function of the kernel itself and keeps it, so that a later
 * search for it need not read the lists again.
 */
void plumb_functions_remember(const char *name);

/* A reason why attaching to F may have failed, to follow its name in a message; NULL: unknown. */
const char *plumb_function_obstacle(const struct plumb_function *f);

struct plumb_argument {
	unsigned int index; /* from 0 */
	unsigned int bits;  /* of its type: higher bits of the register are undefined */
	bool is_signed;
	bool is_pointer;
};

/*
 * Finds the argument with the name or number (from 0) TEXT.  Without a prototype a number is not
 * checked, and taken as 64 bits, unsigned.  Returns 0, or after a message -ENOENT (no such
 * argument) or -ENOTSUP (it is not a number, or its register is not known).
 */
int plumb_function_argument(const struct plumb_function *f, const char *text,
			    struct plumb_argument *argument);

/* For plumb_tool.witness, of a tool that takes all calls of mechanisms.functions. */
extern const struct plumb_witness plumb_function_witness;
