/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * functions: from names and globs to functions of the running kernel.
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
#ifndef PLUMB_FUNCTIONS_H
#define PLUMB_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/* How a result encodes an error. */
enum plumb_result {
	PLUMB_RESULT_NONE,    /* no errors (void, bool, unsigned), or not known */
	PLUMB_RESULT_INT,     /* 32 bits, signed: -errno */
	PLUMB_RESULT_LONG,    /* 64 bits, signed: -errno */
	PLUMB_RESULT_POINTER, /* ERR_PTR: -errno */
};

struct plumb_function {
	char *name;       /* as the kernel has it: "foo.isra.0" */
	char *module;     /* NULL: the kernel itself */
	uint64_t address; /* 0: the kernel does not say (kernel.kptr_restrict) */
	/*
	 * Its prototype: type btf_id, a BTF_KIND_FUNC, of BTF.  NULL and 0 where
	 * there is none or it cannot be trusted: changed, cold or ambiguous.  The
	 * kernel takes btf_id, with btf_fd, for fentry only where the BTF is its
	 * own and not from a file.  As a declaration in C: declare.h.
	 */
	const struct btf *btf;
	uint32_t btf_id;
	int btf_fd; /* the module's BTF in the kernel; 0: the kernel's own; -1: cannot be had */
	enum plumb_result result;
	bool changed;     /* the compiler changed its signature: no argument is where it was */
	bool cold;        /* a part that is jumped to: no arguments, and no return address, so that
			     a kretprobe on it would overwrite its parent's stack */
	bool named;       /* asked for by its name, and not as one of a glob's */
	bool ambiguous;   /* others have its name: only the address says which is meant */
	uint32_t place;   /* among those, in /proc/kallsyms, from 1; 0: not known, or none */
	bool untraced;    /* ftrace does not know it: nothing but a plain kprobe can hold */
	bool unchecked;   /* ftrace was not asked: whether it is untraced is not known yet */
	bool blacklisted; /* the kernel refuses kprobes on it */
};

struct plumb_module_btf;

struct plumb_functions {
	struct plumb_function *all; /* in the order of the patterns, a glob's by name */
	size_t n;
	struct btf *btf; /* the kernel's, while the functions live; NULL: none, or of no use */
	struct plumb_module_btf *modules;
	size_t n_modules;
};

/* Reads the file of --btf, raw BTF or an ELF file with BTF; NULL after a message. */
struct btf *plumb_types_read(const char *file);

/*
 * The functions that match the patterns, each address once.  Types are from
 * BTF_FILE, or with NULL from the kernel, if it has them.  Warns of a name of
 * several functions, and of a name that the compiler changed.  Returns 0, or
 * -errno after a message with suggestions, with FOUND empty.
 */
int plumb_functions_find(const char *const *patterns, size_t n, const char *btf_file,
			 struct plumb_functions *found);
void plumb_functions_free(struct plumb_functions *found);

/*
 * The next search also finds and keeps this function of the kernel itself, so that a later
 * search for it need not read all lists again.
 */
void plumb_functions_keep(const char *name);

/* Why attaching to F may have failed, for a message after its name; NULL: not known. */
const char *plumb_function_obstacle(const struct plumb_function *f);

struct plumb_argument {
	unsigned int index; /* from 0 */
	unsigned int bits;  /* of its type: what is above them in a register is left over */
	bool is_signed;
	bool is_pointer;
};

/*
 * The argument of that name or number (from 0).  A number is taken on trust, as
 * 64 bits without sign, where there is no prototype.  Returns 0, or after saying
 * what is wrong -ENOENT (there is none) or -ENOTSUP (it is no number, or no
 * register is known to hold it).
 */
int plumb_function_argument(const struct plumb_function *f, const char *text,
			    struct plumb_argument *argument);

#endif
