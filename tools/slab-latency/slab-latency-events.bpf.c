/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanism of tracepoints, which fire once for each allocation and free: counts and bytes.
 *
 * Arguments, as the loader finds them in the kernel's types:
 *	kmalloc(call_site, object, asked, given, gfp, [node])
 *	kmem_cache_alloc(call_site, object, cache, gfp, node), before 6.1 as kmalloc
 *	kmem_cache_free(call_site, object, cache), before 6.1 without the cache
 *	kfree(call_site, object)
 *	and, before 6.1, kmalloc_node and kmem_cache_alloc_node as kmalloc, with the node
 */
#include <plumb/bpf/core/lifecycle.bpf.h>
#include "slab-latency.h"

const volatile struct slab_config slab_config = {};

#include "slab.bpf.h"

static __always_inline int count(struct slab_call *c, bool failed)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;

	if (!plumb_live || !filter_thread(task) || !filter_entry(task))
		return 0;
	slab_complete(c);
	totals = totals_of(slab_slot(task, c, cpu), cpu);
	if (!totals)
		return 0;
	totals_add_call(totals, failed);
	if (!failed && c->op < SLAB_FREE)
		slab_add_bytes(totals, c);
	return 0;
}

/* CACHE: 0 for one of kmalloc's. */
static __always_inline int count_sizes(struct bpf_raw_tracepoint_args *ctx, __u64 cache, __s32 node)
{
	struct slab_call c = {
		.cache = cache,
		.caller = ctx->args[0],
		.asked = ctx->args[2],
		.given = ctx->args[3],
		.gfp = ctx->args[4],
		.node = node,
		.op = SLAB_ALLOC,
	};

	return count(&c, !ctx->args[1]);
}

/*
 * From 6.10 on an object that is larger than all caches has two events: the first, of the function
 * that kmalloc's calls for it, comes from within that one.
 */
static __always_inline bool is_within_kmalloc(__u64 caller)
{
	for (int i = 0; i < SLAB_KMALLOCS; i++)
		if (caller >= slab_config.kmallocs[i].from && caller < slab_config.kmallocs[i].to)
			return true;
	return false;
}

SEC("raw_tp/kmalloc")
int on_kmalloc(struct bpf_raw_tracepoint_args *ctx)
{
	if (is_within_kmalloc(ctx->args[0]))
		return 0;
	return count_sizes(ctx, slab_cache_of(ctx->args[1]),
			   slab_config.alloc_has_cache ? (__s32)ctx->args[5] : -1);
}

SEC("raw_tp/kmalloc_node")
int on_kmalloc_node(struct bpf_raw_tracepoint_args *ctx)
{
	return count_sizes(ctx, 0, ctx->args[5]);
}

SEC("raw_tp/kmem_cache_alloc")
int on_alloc(struct bpf_raw_tracepoint_args *ctx)
{
	struct slab_call c = {
		.cache = ctx->args[2],
		.caller = ctx->args[0],
		.gfp = ctx->args[3],
		.node = ctx->args[4],
		.op = SLAB_ALLOC,
	};

	if (!slab_config.alloc_has_cache)
		return count_sizes(ctx, SLAB_UNKNOWN, -1);
	return count(&c, !ctx->args[1]);
}

SEC("raw_tp/kmem_cache_alloc_node")
int on_alloc_node(struct bpf_raw_tracepoint_args *ctx)
{
	return count_sizes(ctx, SLAB_UNKNOWN, ctx->args[5]);
}

/* CACHE: 0 if it is not known. */
static __always_inline int count_free(__u64 caller, __u64 cache, __u8 op)
{
	struct slab_call c = {
		.cache = cache ?: SLAB_UNKNOWN, .caller = caller, .node = -1, .op = op};

	return count(&c, false);
}

SEC("raw_tp/kmem_cache_free")
int on_free(struct bpf_raw_tracepoint_args *ctx)
{
	return count_free(ctx->args[0], slab_config.free_has_cache ? ctx->args[2] : 0, SLAB_FREE);
}

SEC("raw_tp/kfree")
int on_kfree(struct bpf_raw_tracepoint_args *ctx)
{
	return count_free(ctx->args[0], slab_cache_of(ctx->args[1]), SLAB_KFREE);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
