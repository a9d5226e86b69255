/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * traceability: whether the functions of a name can be traced, according to the kernel's lists:
 * its symbols, the functions that ftrace can trace, and the functions that it refuses kprobes on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <plumb/functions/functions.h>

/* A function with the name, or a copy or part of it that the compiler made. */
struct plumb_traceability {
	const char *name;   /* in the kernel, "foo.isra.0"; owned by the lists */
	const char *module; /* NULL: the kernel itself */
	uint64_t address;   /* 0: hidden by the kernel (kernel.kptr_restrict) */
	bool changed;       /* the compiler changed its signature */
	bool cold;          /* a part that the function jumps to */
	bool boot_only;     /* init code, which the kernel frees after boot */
	bool untraced;      /* ftrace cannot trace it */
	bool blacklisted;   /* the kernel refuses kprobes on it */
};

struct plumb_lists;

/* The running kernel's lists; NULL after a message. */
struct plumb_lists *plumb_lists_read(void);
/*
 * The lists of another kernel, from its symbols in the format of /proc/kallsyms.  The symbols also
 * give the kprobe blacklist, but not the functions that ftrace can trace.
 */
struct plumb_lists *plumb_lists_of(const char *symbols);
/*
 * Derives the kprobe blacklist from symbols with addresses, for a kernel whose blacklist cannot be
 * read.
 */
void plumb_lists_derive(struct plumb_lists *lists, const char *symbols);
void plumb_lists_free(struct plumb_lists *lists);

/* Whether untraced, blacklisted and boot_only are known; it depends on the user and the kernel. */
bool plumb_lists_know_traceable(const struct plumb_lists *lists);
bool plumb_lists_know_blacklist(const struct plumb_lists *lists);
bool plumb_lists_know_boot_only(const struct plumb_lists *lists);

/*
 * The functions of NAME ("foo", "nf_tables:foo"): first those of this name, then the compiler's
 * copies and parts, "foo.isra.0" and "foo.cold", each by address.  Returns their number;
 * the caller frees *ALL.
 */
size_t plumb_lists_find(const struct plumb_lists *lists, const char *name,
			struct plumb_traceability **all);

/* "; did you mean ..." (plumb_suggest); returns TEXT. */
const char *plumb_lists_suggest(const struct plumb_lists *lists, const char *name, char *text,
				size_t size);

/*
 * Converts them to functions with their types from BTF, which must outlive FOUND; NULL: the
 * running kernel's BTF.  Those of one name and module are adjacent.  Returns 0, or -errno after a
 * message; FOUND is empty then.
 */
int plumb_functions_of(const struct plumb_traceability *all, size_t n, const struct btf *btf,
		       struct plumb_functions *found);
