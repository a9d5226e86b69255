/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * declare: BTF types as C declarations.
 *
 * A declarer caches data of each BTF, so that many types of few BTFs are fast.  The BTFs must
 * outlive it.  It is initialized with {}.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct btf;
struct plumb_function;
struct plumb_declared;

struct plumb_declarer {
	struct plumb_declared **all;
	size_t n;
};

/*
 * Declares NAME with type ID: "int (*compare)(const void *a, const void *b)"; with "" the type
 * alone.  The declarer owns the text, which is valid until the next call with this BTF.  NULL: the
 * BTF is invalid, or there is no memory.
 */
const char *plumb_declare(struct plumb_declarer *d, const struct btf *btf, uint32_t id,
			  const char *name);

/*
 * "ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)", with argument names
 * if BTF has them.  NULL also if the function has no prototype (functions.h).
 */
const char *plumb_function_prototype(struct plumb_declarer *d, const struct plumb_function *f);

void plumb_declarer_free(struct plumb_declarer *d);
