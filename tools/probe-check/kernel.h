/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel: the one that is judged: the running one, an image of one, or its types only. */
#ifndef KERNEL_H
#define KERNEL_H

#include "image.h"
#include <plumb/kernel/traceability.h>
#include <stdbool.h>

#include "verdict.h"

struct btf;

struct kernel {
	bool running;
	const char *name; /* for verdicts: "this kernel", "this image", "this BTF" */
	char release[128];
	struct plumb_image image;
	struct plumb_lists *lists; /* NULL: no symbols */
	struct btf *own_btf;       /* of --btf, or the running kernel's without its image */
	const struct btf *btf;     /* own_btf, or the image's; NULL: none */
	int tracefs;               /* -errno: none; of the running kernel only */
	char why_no_code[256];
};

/* What is asked of the running kernel: nothing else is read. */
struct kernel_wants {
	bool functions, types, tracefs;
};

/* IMAGE and BTF are files, or NULL.  0, or -errno after saying what is wrong. */
int kernel_open(struct kernel *k, const char *image, const char *btf, struct kernel_wants wants);
void kernel_close(struct kernel *k);

/* Has it a function of that name, and which are like it? */
bool kernel_has_function(const struct kernel *k, const char *name);
/* What a function usually becomes that loses its name, if there is such a one: TEXT, or NULL. */
const char *kernel_other_name(const struct kernel *k, const char *name, char *text, size_t size);
const char *kernel_suggest(const struct kernel *k, const char *name, char *text, size_t size);

/* Does it say which functions ftrace knows? */
bool kernel_knows_notrace(const struct kernel *k);

/* What it does not tell of functions, "notrace, blacklist, boot only, inlining" at most; returns
 * TEXT. */
const char *kernel_limits(const struct kernel *k, char *text, size_t size);

/* How many functions of that name its types have. */
size_t kernel_types_of(const struct kernel *k, const char *name);

/*
 * The functions of these names, as they are in it, with their types; those that it
 * lacks are left out.  0, or -errno after saying what is wrong.
 */
int kernel_functions(const struct kernel *k, const char *const *names, size_t n,
		     struct plumb_functions *found);

/*
 * Of a native system call: the kernel's function, and the name of its tracepoint in
 * the category syscalls.  False: none that is known has that name, and if there is one
 * that is newer, EVENT is its.
 */
bool syscall_hooks(const char *name, char function[128], char event[128]);

/* Judge each check of the kind, and pass over the others; 0 or -errno. */
int functions_check(const struct kernel *k, struct check *checks, size_t n);
int tracepoints_check(const struct kernel *k, struct check *checks, size_t n);
int raw_tracepoints_check(const struct kernel *k, struct check *checks, size_t n);
int syscalls_check(const struct kernel *k, struct check *checks, size_t n);

#endif
