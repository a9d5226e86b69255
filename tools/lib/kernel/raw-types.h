/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * raw types: BTF as a file of the kernel has it.  libbpf copies it, 6 MB, and checks each of the
 * 150,000 types; here it is mapped, where the kernel offers that (6.16), and found once.
 */
#pragma once

#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>

struct raw_types {
	const struct raw_types *base; /* whose types and strings come first; NULL: none */
	void *data;
	size_t size;
	bool is_mapped;
	__u32 first, n;  /* its types have the ids FIRST to N - 1 */
	const __u32 *at; /* where each begins, by id - FIRST */
	__u32 *copied;   /* for a user: 0 at first, by id - FIRST */
	const char *types, *strings;
	__u32 first_string, end_of_strings;
};

/* Reads the file at PATH, on top of BASE; 0 or -errno. */
int raw_types_open(struct raw_types *t, const char *path, const struct raw_types *base);
void raw_types_close(struct raw_types *t);

/* The type ID of T or of what it is on top of; NULL: there is none. */
static inline const struct btf_type *raw_types_get(const struct raw_types *t, __u32 id)
{
	while (t && id < t->first)
		t = t->base;
	return t && id < t->n ? (const void *)(t->types + t->at[id - t->first]) : NULL;
}

/* Its member of COPIED. */
__u32 *raw_types_copied(const struct raw_types *t, __u32 id);
/* The string at OFFSET, "" if there is none. */
const char *raw_types_string(const struct raw_types *t, __u32 offset);
/* Its bytes with all that follows it; 0: its kind is not known. */
size_t raw_type_size(const struct btf_type *type);
