/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * declare: BTF's types as declarations in C.
 *
 * A declarer keeps what it has learnt of each BTF, and is quick for many types
 * of few BTFs, which have to live as long as it does.  It begins as {}.
 */
#ifndef PLUMB_DECLARE_H
#define PLUMB_DECLARE_H

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
 * NAME as something of type ID: "int (*compare)(const void *a, const void *b)"; with
 * "" the type alone.  The text is the declarer's, until the next call with this BTF;
 * NULL: BTF makes no sense, or there is no memory.
 */
const char *plumb_declare(struct plumb_declarer *d, const struct btf *btf, uint32_t id,
			  const char *name);

/*
 * "ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)", with names
 * where BTF has them; NULL also where the function has no prototype (functions.h).
 */
const char *plumb_function_prototype(struct plumb_declarer *d, const struct plumb_function *f);

void plumb_declarer_free(struct plumb_declarer *d);

#endif
