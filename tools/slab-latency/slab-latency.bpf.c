/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mechanisms on functions.  The calls of a thread are a stack of frames.  The functions of the
 * slow path are parts of a call: at its end a part marks the frame below its own, which is that of
 * the call, or of an enclosing part.
 */
#define PLUMB_FUNCTION_ARGS 4
#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/function/function.h>
#include "slab-latency.h"

const volatile struct slab_config slab_config = {};

#define slab_at(target) (&slab_config.at[PLUMB_TARGET_INDEX(target) & (SLAB_FUNCTIONS - 1)])

/* The fourth word of a frame: flags, 16 bits of the node, and the path as far as it is known. */
#define SLAB_NODE_SHIFT      32
#define SLAB_PATH_SHIFT      56
#define slab_pack(gfp, node) ((__u32)(gfp) | (__u64)(__u16)(node) << SLAB_NODE_SHIFT)

#include <plumb/bpf/function/function.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>
#include "slab.bpf.h"

static __always_inline void function_args(const void *ctx, enum function_hook hook, __u64 target,
					  __u64 *args)
{
	const volatile struct slab_function *at = slab_at(target);
	__u32 caller;

	if (hook == FUNCTION_CTX_EXIT)
		return;
	/* kfree() has its object only at the entry. */
	args[0] = function_arg(ctx, hook, at->cache);
	if (at->what == SLAB_KFREE)
		args[0] = slab_cache_of(args[0]);
	args[1] = function_arg(ctx, hook, at->size);
	caller = at->caller;
	if (caller & PLUMB_CALLER && caller != PLUMB_NO_ARG)
		args[2] = function_caller(ctx, hook, caller);
	else
		args[2] = function_arg(ctx, hook, caller);
	args[3] = slab_pack(function_arg(ctx, hook, at->gfp), function_arg(ctx, hook, at->node));
}

/* The frame of the part that ended is popped already. */
static __always_inline void mark_enclosing(struct task_struct *task, __u64 path)
{
	struct function_thread *t = inflight_get(task);
	struct plumb_frame *f = t ? frame_below(t, t->depth) : NULL;

	if (f)
		f->args[3] |= path << SLAB_PATH_SHIFT;
}

/* The cache for objects of SIZE in an array of caches by class (kmem_buckets). */
static __always_inline __u64 cache_in(__u64 buckets, __u64 size)
{
	__u32 class = slab_class(size);
	__u64 cache = 0;

	if (buckets && class < 32)
		bpf_probe_read_kernel(&cache, sizeof(cache), (void *)(buckets + 8 * class));
	return cache;
}

/* 0: OBJECT is of none.  The verifier takes a copy of the pointer for the number that it is. */
static __noinline __u64 cache_of(__u64 object)
{
	__u64 cache = slab_cache_of(object), address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &cache);
	return address;
}

static __always_inline void function_record(struct task_struct *task, const struct function_call *f)
{
	const volatile struct slab_function *at = slab_at(call_target(f));
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;
	struct slab_call c = {
		.cache = f->args[0],
		.asked = f->args[1],
		.caller = f->args[2],
		.gfp = f->args[3],
		.node = -1,
		.op = at->what,
		.path = f->args[3] >> SLAB_PATH_SHIFT & (SLAB_PATHS - 1),
	};

	if (at->what >= SLAB_REFILL) {
		mark_enclosing(task, c.path | (at->what == SLAB_NEW ? SLAB_PAGE : SLAB_SLOW));
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	if (at->node != PLUMB_NO_ARG)
		c.node = (__s16)(f->args[3] >> SLAB_NODE_SHIFT);
	if (!c.cache && at->what >= SLAB_FREE)
		c.cache = SLAB_UNKNOWN;
	if (at->buckets)
		c.cache = cache_in(c.cache, c.asked);
	if (at->may_be_virtual && f->ret) {
		c.cache = cache_of(f->ret);
		if (!c.cache) { /* pages */
			ledger_count(cpu, filtered_at_exit);
			return;
		}
	}
	slab_complete(&c);
	totals = hist_record(slab_slot(task, &c, cpu), cpu, f->ns, at->what < SLAB_FREE && !f->ret,
			     false);
	if (totals && at->what < SLAB_FREE && f->ret)
		slab_add_bytes(totals, &c);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
