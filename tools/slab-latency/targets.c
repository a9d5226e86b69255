/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/bpf/function/function.h>
#include <plumb/bpf/sched/waker.h>
#include <plumb/core/log.h>
#include <plumb/kernel/types.h>

#include <bpf/btf.h>

/* From 5.18 to 6.7, kmalloc's functions call this one, or one more for large objects. */
#define COMMON       "__kmem_cache_alloc_node"
#define COMMON_LARGE "__kmalloc_large_node"
/* Before, kmalloc's functions may call those for large objects. */
#define NESTED_LARGE "kmalloc_order"
/*
 * From 6.15 on, which has this function, kvmalloc() calls none of kmalloc's functions.  It returns
 * an object or, if there is none, virtually contiguous pages: bpf_get_kmem_cache() tells them
 * apart.
 */
#define OWN_KVMALLOC "kvfree_rcu_cb"

#define ALLOCATE "allocate_slab"

/* Of which kernels a function is a target. */
enum rule {
	ALWAYS,
	NOT_WITH_COMMON,
	WITH_COMMON,
	LARGE, /* neither with COMMON nor with NESTED_LARGE */
	VIRTUAL,
	NOT_WITH_ALLOCATE, /* the compiler made one function of it and ALLOCATE */
	FREES,             /* with --frees */
};

/*
 * The functions by which the rest of the kernel allocates and frees.  None of them calls another
 * of the list, as far as RULE selects them.  All names are those of some kernel from 5.10 to 7.3,
 * or in renamed.list.  __kmalloc_large_node_noprof is missing, since kmalloc's functions call it.
 */
static const struct {
	const char *name;
	enum slab_what what;
	enum rule rule;
} known[] = {
	{"kmem_cache_alloc", SLAB_ALLOC, ALWAYS},
	{"kmem_cache_alloc_lru", SLAB_ALLOC, ALWAYS},
	{"kmem_cache_alloc_node", SLAB_ALLOC, ALWAYS},
	{"kmem_cache_alloc_from_sheaf_noprof", SLAB_ALLOC, ALWAYS},
	{COMMON, SLAB_ALLOC, WITH_COMMON},
	{COMMON_LARGE, SLAB_ALLOC, WITH_COMMON},
	{"kmalloc_large", SLAB_ALLOC, LARGE},
	{"kmalloc_large_node", SLAB_ALLOC, LARGE},
	{"__kmalloc_large_noprof", SLAB_ALLOC, ALWAYS},
	{"__kmalloc", SLAB_ALLOC, NOT_WITH_COMMON},
	{"__kmalloc_node", SLAB_ALLOC, NOT_WITH_COMMON},
	{"__kmalloc_track_caller", SLAB_ALLOC, NOT_WITH_COMMON},
	{"__kmalloc_node_track_caller", SLAB_ALLOC, NOT_WITH_COMMON},
	{"__kmalloc_flags_noprof", SLAB_ALLOC, NOT_WITH_COMMON},
	{"kmem_cache_alloc_trace", SLAB_ALLOC, NOT_WITH_COMMON},
	{"kmem_cache_alloc_node_trace", SLAB_ALLOC, NOT_WITH_COMMON},
	{"kmalloc_trace", SLAB_ALLOC, NOT_WITH_COMMON},
	{"kmalloc_node_trace", SLAB_ALLOC, NOT_WITH_COMMON},
	{"__kmalloc_cache_noprof", SLAB_ALLOC, NOT_WITH_COMMON},
	{"__kmalloc_cache_node_noprof", SLAB_ALLOC, NOT_WITH_COMMON},
	{"__kvmalloc_node_noprof", SLAB_ALLOC, VIRTUAL},
	{"kmem_cache_alloc_bulk", SLAB_BULK, ALWAYS},
	{"___slab_alloc", SLAB_REFILL, ALWAYS},
	{"__pcs_replace_empty_main", SLAB_REFILL, ALWAYS}, /* sheaves, from 6.18 on */
	{ALLOCATE, SLAB_NEW, ALWAYS},
	{"new_slab", SLAB_NEW, NOT_WITH_ALLOCATE},
	{"kfree", SLAB_KFREE, FREES},
	{"kmem_cache_free", SLAB_FREE, FREES},
	{"kmem_cache_free_bulk", SLAB_BULK_FREE, FREES},
	{"__slab_free", SLAB_REFILL, FREES},
	{"__pcs_replace_full_main", SLAB_REFILL, FREES},
};
#define N_KNOWN (sizeof(known) / sizeof(known[0]))

static const struct btf_type *prototype(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);

	return id < 0 ? NULL : btf__type_by_id(btf, btf__type_by_id(btf, id)->type);
}

/* The position of the first parameter that has one of the names, ended by NULL. */
static __u8 position(const struct btf *btf, const struct btf_type *f, const char *const *names)
{
	for (; *names; names++)
		for (int i = 0; i < btf_vlen(f); i++)
			if (!strcmp(btf__name_by_offset(btf, btf_params(f)[i].name_off), *names))
				return i;
	return PLUMB_NO_ARG;
}

static struct slab_function describe(const struct btf *btf, const struct btf_type *f,
				     enum slab_what what)
{
	static const char *const caches[] = {"s", "cachep", NULL}, *const buckets[] = {"b", NULL},
				 *const objects[] = {"object", "objp", "x", NULL},
				 *const sizes[] = {"size", "orig_size", NULL},
				 *const flags[] = {"gfpflags", "flags", "gfp", "gfp_flags", NULL},
				 *const nodes[] = {"node", NULL},
				 *const callers[] = {"caller", NULL};
	struct slab_function at = {
		.what = what,
		.cache = position(btf, f, caches),
		.size = what == SLAB_BULK_FREE ? PLUMB_NO_ARG : position(btf, f, sizes),
		.gfp = position(btf, f, flags),
		.node = position(btf, f, nodes),
		.caller = position(btf, f, callers),
	};

	if (what == SLAB_KFREE) {
		at.cache = prototype(btf, "bpf_get_kmem_cache") ? position(btf, f, objects)
								: PLUMB_NO_ARG;
	} else if (at.cache == PLUMB_NO_ARG) {
		at.cache = position(btf, f, buckets);
		at.buckets = at.cache != PLUMB_NO_ARG;
	}
	/* Pointers to arrays, and to const void, are no arguments that fentry programs may load. */
	if (at.cache != PLUMB_NO_ARG && (at.buckets || what == SLAB_KFREE))
		at.cache |= PLUMB_POINTER;
	if (at.caller == PLUMB_NO_ARG)
		at.caller = PLUMB_CALLER | btf_vlen(f);
	return at;
}

/* Whether the tool needs function I of the list. */
static bool is_needed(size_t i, const struct btf *btf, bool parts, bool frees)
{
	const bool common = prototype(btf, COMMON);

	if (known[i].what >= SLAB_REFILL && !parts)
		return false;
	switch (known[i].rule) {
	case FREES:
		return frees;
	case NOT_WITH_ALLOCATE:
		return !prototype(btf, ALLOCATE);
	case WITH_COMMON:
		return common;
	case NOT_WITH_COMMON:
		return !common;
	case LARGE:
		return !common && !prototype(btf, NESTED_LARGE);
	case VIRTUAL:
		return prototype(btf, OWN_KVMALLOC) && prototype(btf, "bpf_get_kmem_cache");
	default:
		return true;
	}
}

static int find_functions(const char *file, const struct btf *btf, bool parts, bool frees,
			  struct slab_targets *targets)
{
	const char *names[SLAB_FUNCTIONS];
	struct slab_function at[SLAB_FUNCTIONS];
	const struct btf_type *f;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < N_KNOWN && n < SLAB_FUNCTIONS; i++) {
		const char *name = plumb_btf_function(btf, known[i].name);

		f = name ? prototype(btf, name) : NULL;
		if (!f || !is_needed(i, btf, parts, frees))
			continue;
		at[n] = describe(btf, f, known[i].what);
		at[n].may_be_virtual = known[i].rule == VIRTUAL;
		names[n++] = name;
	}
	err = n ? plumb_functions_find(names, n, file, &targets->functions) : 0;
	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; i < targets->functions.n; i++)
		for (size_t k = 0; k < n; k++)
			if (!strcmp(targets->functions.all[i].name, names[k]))
				targets->config.at[i] = at[k];
	return 0;
}

/* Whether argument I of the event is a kmem_cache.  The first parameter is the tracer's. */
static bool passes_cache(const struct btf *btf, const char *event, int i)
{
	const struct btf_type *t = plumb_tracepoint_prototype(btf, event);

	if (!t || btf_vlen(t) <= i + 1)
		return false;
	t = btf__type_by_id(btf, btf_params(t)[i + 1].type);
	while (btf_is_ptr(t) || btf_is_const(t))
		t = btf__type_by_id(btf, t->type);
	return !strcmp(btf__name_by_offset(btf, t->name_off), "kmem_cache");
}

/* The functions of kmalloc from 6.10 on that call another one, which has an event as well. */
static bool calls_large(const char *name)
{
	static const char *const names[SLAB_KMALLOCS] = {
		" __kmalloc_noprof\n", " __kmalloc_node_noprof\n",
		" __kmalloc_node_track_caller_noprof\n", " __kmalloc_flags_noprof\n"};

	for (size_t i = 0; i < SLAB_KMALLOCS; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

void slab_addresses_find(struct slab_config *config)
{
	static const char *const counts[] = {" __preempt_count\n", " pcpu_hot\n"};
	FILE *f = fopen("/proc/kallsyms", "re");
	struct slab_range *open = NULL;
	const char *name;
	char line[512];
	uint32_t n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		const uint64_t address = strtoull(line, NULL, 16);

		name = strrchr(line, ' ') ?: "";
		if (open && address > open->from) {
			open->to = address;
			open = NULL;
		}
		if (n < SLAB_KMALLOCS && calls_large(name)) {
			open = &config->kmallocs[n++];
			open->from = address;
		}
		if (!strcmp(name, counts[0]) || !strcmp(name, counts[1]))
			config->preempt_count = address;
		else if (!strcmp(name, " __per_cpu_offset\n"))
			config->cpu_offsets = address;
		else if (!strcmp(name, " _local_interrupt_enable\n"))
			config->count_is_long = 1;
	}
	if (f)
		fclose(f);
	if (!config->cpu_offsets)
		config->preempt_count = 0;
}

int slab_targets_find(const char *file, uint32_t by, bool frees, bool events,
		      struct slab_targets *targets)
{
	struct btf *btf = plumb_types_get(file);
	int err = 0;

	if (!btf)
		return -EOPNOTSUPP;
	targets->config = (struct slab_config){
		.largest = __builtin_ctzl(sysconf(_SC_PAGESIZE)) + 1,
		.alloc_has_cache = passes_cache(btf, "kmem_cache_alloc", 2),
		.free_has_cache = passes_cache(btf, "kmem_cache_free", 2),
	};
	targets->node_events = plumb_tracepoint_prototype(btf, "kmalloc_node");
	if (by & SLAB_BY_CONTEXT)
		slab_addresses_find(&targets->config);
	if (!events)
		err = find_functions(file, btf, by & SLAB_BY_PATH, frees, targets);
	plumb_kernel_btf_put(btf);
	return err;
}
