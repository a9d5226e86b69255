/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * traceability: what a kernel's own lists say of the functions of a name, as data:
 * its symbols, the functions that ftrace knows, and those that kprobes may not touch.
 */
#ifndef PLUMB_TRACEABILITY_H
#define PLUMB_TRACEABILITY_H

#include <plumb/kernel/functions.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A function that has the name, or was made of the one that had it. */
struct plumb_traceability {
	const char *name;   /* as the kernel has it, "foo.isra.0"; the lists' */
	const char *module; /* NULL: the kernel itself */
	uint64_t address;   /* 0: the kernel does not say (kernel.kptr_restrict) */
	bool changed;       /* the compiler changed its signature */
	bool cold;          /* a part that is jumped to */
	bool boot_only;     /* its code is gone once the kernel has booted */
	bool untraced;      /* ftrace does not know it */
	bool blacklisted;   /* the kernel refuses kprobes on it */
};

struct plumb_lists;

/* The running kernel's; NULL after saying what is wrong. */
struct plumb_lists *plumb_lists_read(void);
/*
 * Of the symbols of another one, text as /proc/kallsyms has it; NULL: no memory.  They
 * tell also what kprobes may not touch, but not what ftrace knows.
 */
struct plumb_lists *plumb_lists_of(const char *symbols);
/*
 * Where the kernel does not tell what kprobes may not touch: as much of that as its
 * symbols do, with their addresses.  0, or -errno after saying what is wrong.
 */
int plumb_lists_derive(struct plumb_lists *lists, const char *symbols);
void plumb_lists_free(struct plumb_lists *lists);

/* Is untraced, blacklisted, boot_only known at all?  Not to all users, not of all kernels. */
bool plumb_lists_know_traceable(const struct plumb_lists *lists);
bool plumb_lists_know_blacklist(const struct plumb_lists *lists);
bool plumb_lists_know_boot_only(const struct plumb_lists *lists);

/*
 * The functions of NAME ("foo", "nf_tables:foo"): first those called so, then what
 * became of it, "foo.isra.0" and "foo.cold", each by address.  How many, or
 * -ENOMEM; *ALL is the caller's.
 */
ssize_t plumb_lists_find(const struct plumb_lists *lists, const char *name,
			 struct plumb_traceability **all);

/* "; did you mean ..." (plumb_suggest); returns TEXT. */
const char *plumb_lists_suggest(const struct plumb_lists *lists, const char *name, char *text,
				size_t size);

/*
 * These as functions, with their types from BTF, which has to live as long as
 * they do, or with NULL from the kernel.  0, or -errno after saying what is wrong;
 * FOUND is empty then.
 */
int plumb_functions_of(const struct plumb_traceability *all, size_t n, const struct btf *btf,
		       struct plumb_functions *found);

/*
 * All functions that the kernel has by now, with their types, be they traceable or
 * not: its own first, by name.  0, or -errno after saying what is wrong.
 */
int plumb_functions_all(const struct plumb_lists *lists, struct plumb_functions *found);

#endif
