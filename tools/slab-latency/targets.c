/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "targets.h"

#include <errno.h>
#include <plumb/base/log.h>
#include <plumb/bpf/function/function.h>
#include <plumb/kernel/types.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

/* As a function of the list below, if it exists: all that it calls are then not targets. */
#define COMMON "__kmem_cache_alloc_node"

/*
 * The functions by which the rest of the kernel allocates and frees.  None of them calls another
 * of the list, except kmalloc's, from 5.18 to 6.7, COMMON.  Those for large objects are missing:
 * they are the page allocator's.  All names are those of some kernel from 5.10 to 7.3; _noprof is
 * from 6.10 on.
 */
static const struct {
	const char *name;
	enum slab_what what;
	bool calls_common;
} known[] = {
	{"kmem_cache_alloc", SLAB_ALLOC, false},
	{"kmem_cache_alloc_noprof", SLAB_ALLOC, false},
	{"kmem_cache_alloc_lru", SLAB_ALLOC, false},
	{"kmem_cache_alloc_lru_noprof", SLAB_ALLOC, false},
	{"kmem_cache_alloc_node", SLAB_ALLOC, false},
	{"kmem_cache_alloc_node_noprof", SLAB_ALLOC, false},
	{"kmem_cache_alloc_from_sheaf_noprof", SLAB_ALLOC, false},
	{COMMON, SLAB_ALLOC, false},
	{"__kmalloc", SLAB_ALLOC, true},
	{"__kmalloc_noprof", SLAB_ALLOC, true},
	{"__kmalloc_node", SLAB_ALLOC, true},
	{"__kmalloc_node_noprof", SLAB_ALLOC, true},
	{"__kmalloc_track_caller", SLAB_ALLOC, true},
	{"__kmalloc_node_track_caller", SLAB_ALLOC, true},
	{"__kmalloc_node_track_caller_noprof", SLAB_ALLOC, true},
	{"__kmalloc_flags_noprof", SLAB_ALLOC, true},
	{"kmem_cache_alloc_trace", SLAB_ALLOC, true},
	{"kmem_cache_alloc_node_trace", SLAB_ALLOC, true},
	{"kmalloc_trace", SLAB_ALLOC, true},
	{"kmalloc_trace_noprof", SLAB_ALLOC, true},
	{"kmalloc_node_trace", SLAB_ALLOC, true},
	{"kmalloc_node_trace_noprof", SLAB_ALLOC, true},
	{"__kmalloc_cache_noprof", SLAB_ALLOC, true},
	{"__kmalloc_cache_node_noprof", SLAB_ALLOC, true},
	{"kmem_cache_alloc_bulk", SLAB_BULK, false},
	{"kmem_cache_alloc_bulk_noprof", SLAB_BULK, false},
	{"___slab_alloc", SLAB_REFILL, false},
	{"__pcs_replace_empty_main", SLAB_REFILL, false}, /* sheaves, from 6.18 on */
	{"allocate_slab", SLAB_NEW, false},
	{"kfree", SLAB_KFREE, false},
	{"kmem_cache_free", SLAB_FREE, false},
	{"__slab_free", SLAB_REFILL, false},
	{"__pcs_replace_full_main", SLAB_REFILL, false},
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
	return PLUMB_NO_RESULT;
}

static struct slab_function describe(const struct btf *btf, const struct btf_type *f,
				     enum slab_what what)
{
	static const char *const caches[] = {"s", "cachep", NULL}, *const buckets[] = {"b", NULL},
				 *const sizes[] = {"size", "orig_size", NULL},
				 *const flags[] = {"gfpflags", "flags", "gfp", "gfp_flags", NULL},
				 *const nodes[] = {"node", NULL},
				 *const callers[] = {"caller", NULL};
	struct slab_function at = {
		.what = what,
		.cache = position(btf, f, caches),
		.size = position(btf, f, sizes),
		.gfp = position(btf, f, flags),
		.node = position(btf, f, nodes),
		.caller = position(btf, f, callers),
	};

	if (at.cache == PLUMB_NO_RESULT) {
		at.cache = position(btf, f, buckets);
		at.buckets = at.cache != PLUMB_NO_RESULT;
		/* A pointer to an array is no argument that fentry programs may load. */
		if (at.buckets)
			at.cache |= PLUMB_POINTER;
	}
	if (at.caller == PLUMB_NO_RESULT)
		at.caller = PLUMB_CALLER | btf_vlen(f);
	return at;
}

/* Whether the tool needs function I of the list. */
static bool is_needed(size_t i, bool common, bool parts, bool frees)
{
	const enum slab_what what = known[i].what;
	const bool frees_slowly = !strcmp(known[i].name, "__slab_free") ||
				  !strcmp(known[i].name, "__pcs_replace_full_main");

	if (what == SLAB_FREE || what == SLAB_KFREE || frees_slowly)
		return frees && (parts || !frees_slowly);
	if (what >= SLAB_REFILL)
		return parts;
	return !(common && known[i].calls_common);
}

static int find_functions(const char *file, const struct btf *btf, bool parts, bool frees,
			  struct slab_targets *targets)
{
	const char *names[SLAB_FUNCTIONS];
	const bool common = prototype(btf, COMMON);
	struct slab_function at[SLAB_FUNCTIONS];
	const struct btf_type *f;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < N_KNOWN && n < SLAB_FUNCTIONS; i++) {
		f = prototype(btf, known[i].name);
		if (!f || !is_needed(i, common, parts, frees))
			continue;
		at[n] = describe(btf, f, known[i].what);
		names[n++] = known[i].name;
	}
	err = n ? plumb_functions_find(names, n, file, &targets->functions) : 0;
	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; i < targets->functions.n; i++)
		for (size_t k = 0; k < n; k++)
			if (!strcmp(targets->functions.all[i].name, names[k])) {
				targets->at[i] = at[k];
				targets->has_parts |= at[k].what >= SLAB_REFILL;
			}
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

int slab_targets_find(const char *file, bool parts, bool frees, struct slab_targets *targets)
{
	struct btf *btf = file ? btf__parse(file, NULL) : plumb_kernel_btf_get();
	int err;

	if (!btf)
		return plumb_error(EOPNOTSUPP, "the kernel's types cannot be read: %s",
				   file ?: "/sys/kernel/btf/vmlinux");
	targets->config = (struct slab_config){
		.largest = __builtin_ctzl(sysconf(_SC_PAGESIZE)) + 1,
		.alloc_has_cache = passes_cache(btf, "kmem_cache_alloc", 2),
		.free_has_cache = passes_cache(btf, "kmem_cache_free", 2),
	};
	targets->node_events = plumb_tracepoint_prototype(btf, "kmalloc_node");
	err = find_functions(file, btf, parts, frees, targets);
	if (file)
		btf__free(btf);
	else
		plumb_kernel_btf_put(btf);
	return err;
}
