/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * merged: the names of caches that the kernel has merged into one, of which it keeps the first. In
 * /sys/kernel/slab the names of one cache are links to one folder.
 */
#ifndef SLAB_MERGED_H
#define SLAB_MERGED_H

#include <jansson.h>
#include <stddef.h>

/* Reads the names: those that there are before the trace. */
void merged_read(void);

/* The number of other names that the cache NAME has; 0 also if it cannot be read. */
size_t merged_count(const char *name);
/* They: a new array. */
json_t *merged_names(const char *name);

#endif
