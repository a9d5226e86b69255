/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel: the kernel that targets are checked against: the running one, an image, or only types. */
#pragma once

#include "image/image.h"
#include <stdbool.h>
#include <plumb/functions/traceability.h>

#include "plan/verdict.h"

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

/* What to read of the running kernel; nothing else is read. */
struct kernel_wants {
	bool functions, types, tracefs;
};

/* IMAGE and BTF are files, or NULL.  0, or -errno after a message. */
int kernel_open(struct kernel *k, const char *image, const char *btf, struct kernel_wants wants);
void kernel_close(struct kernel *k);

/* Return whether there is a function with that name that is not known to be init code. */
bool kernel_has_function(const struct kernel *k, const char *name);
/* What the kernel calls NAME, if it has that or another name of renamed.h; else NAME. */
const char *kernel_name(const struct kernel *k, const char *name);
/*
 * Return TEXT with a function that may be NAME under a usual new name (__NAME, NAME_noprof, or
 * without leading underscores); NULL: there is none.
 */
const char *kernel_other_name(const struct kernel *k, const char *name, char *text, size_t size);
const char *kernel_suggest(const struct kernel *k, const char *name, char *text, size_t size);

/* Return whether it is known which functions ftrace can trace. */
bool kernel_knows_notrace(const struct kernel *k);

/*
 * List in TEXT what is not known of functions: at most "notrace, blacklist, boot only, inlining".
 * Return TEXT.
 */
const char *kernel_limits(const struct kernel *k, char *text, size_t size);

/* The number of functions with that name in the types. */
size_t kernel_types_of(const struct kernel *k, const char *name);

/*
 * Find the functions with these names, and their types; skip names that the kernel does not have.
 * 0, or -errno after a message.
 */
int kernel_functions(const struct kernel *k, const char *const *names, size_t n,
		     struct plumb_functions *found);

/*
 * Set FUNCTION to the kernel function of a native system call, and EVENT to its entry tracepoint in
 * the category syscalls.  False: the call is not known; then FUNCTION is "", and EVENT is the
 * tracepoint that a newer call of this name would have.
 */
bool syscall_hooks(const char *name, char function[128], char event[128]);

/*
 * Set the verdicts of functions, or of tracepoints and system calls, and skip the other checks; 0
 * or -errno.
 */
int functions_check(const struct kernel *k, struct check *checks, size_t n);
int events_check(const struct kernel *k, struct check *checks, size_t n);
