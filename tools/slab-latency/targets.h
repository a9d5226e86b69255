/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* targets: the allocator's functions and events that this kernel has, and their arguments. */
#pragma once

#include <plumb/functions/functions.h>

#include "slab-latency.h"

struct slab_targets {
	struct plumb_functions functions;
	struct slab_config config;
	bool node_events; /* kmalloc_node, kmem_cache_alloc_node (before 6.1) */
};

/*
 * From the kernel's types, or those in FILE unless it is NULL.  BY: the keys, SLAB_BY_PATH for the
 * functions of the slow path, too; FREES: also those that free; EVENTS: no functions.  0, or -errno
 * after a message; without functions that can be named there is none, and functions.n is 0.
 */
int slab_targets_find(const char *file, uint32_t by, bool frees, bool events,
		      struct slab_targets *targets);

/*
 * Finds, by the kernel's symbols, the functions of kmalloc, each until the next symbol, and where
 * each CPU counts what has interrupted it: the latter on x86, and if the kernel names its variables
 * (CONFIG_KALLSYMS_ALL).
 */
void slab_addresses_find(struct slab_config *config);
