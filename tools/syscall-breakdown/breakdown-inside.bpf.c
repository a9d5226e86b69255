/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "inside.h"

/* The functions with numbers below n_calls are those of the system calls. */
const volatile struct breakdown_inside breakdown_inside = {};

#include <plumb/bpf/function/function.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>

#define PLUMB_KEY struct breakdown_function_key
#include <plumb/bpf/key/keys.bpf.h>

static __always_inline void function_args(const void *ctx, enum function_hook hook, __u64 target,
					  __u64 *args)
{
	(void)ctx, (void)hook, (void)target, (void)args;
}

static __always_inline bool is_call(__u64 target)
{
	return PLUMB_TARGET_INDEX(target) < breakdown_inside.n_calls;
}

/* Return whether the call is inside a traced system call.  AGAIN: TARGET is inside itself. */
static __always_inline bool is_inside(const struct function_thread *t, __u64 target, bool *again)
{
	bool inside = is_call(target);
	__u32 i;

	*again = false;
	for (i = 0; i < PLUMB_FRAMES && i < t->depth; i++) {
		inside |= is_call(t->frames[i].target);
		*again |= t->frames[i].target == target;
	}
	return inside;
}

#define NO_CALLER (~0ULL) /* in place of a target */

/* Each function has a fixed slot, so no key is looked up. */
static __always_inline __u32 slot_of(__u64 target)
{
	__u32 slot = PLUMB_TARGET_INDEX(target) + 1;

	return slot < plumb_config.slots ? slot : 0;
}

static __always_inline struct plumb_totals *totals_at(__u32 slot, __u32 cpu)
{
	__u32 at = slot * plumb_config.shards + cpu;
	__u64 *buckets;

	if (!plumb_config.exclusive)
		return totals_of(slot, cpu);
	buckets = bpf_map_lookup_elem(&plumb_hists, &at);
	return buckets ? (struct plumb_totals *)(buckets + plumb_config.buckets) : NULL;
}

/*
 * The time of a call is added to the own time of its function, and subtracted from that of its
 * caller.  So the sum over all functions is the time of the system calls, even if calls are missed
 * or have not ended.
 */
static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	struct function_thread *t = inflight_get(task);
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 caller = NO_CALLER;
	struct plumb_frame *f;
	struct plumb_totals *totals;
	bool again;

	if (!t || !is_inside(t, c->target, &again)) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	f = frame_below(t, t->depth);
	if (f)
		caller = f->target;
	barrier_var(caller); /* else clang tests f again, which verifiers up to 6.1 do not follow */
	totals = hist_record(slot_of(c->target), cpu, c->ns, 0, false);
	if (!totals)
		return;
	plumb_add(totals->counters[0], c->ns);
	if (!again)
		plumb_add(totals->counters[1], c->ns);
	if (caller == NO_CALLER || is_call(c->target))
		return;
	totals = totals_at(slot_of(caller), cpu);
	if (totals)
		plumb_add(totals->counters[0], -c->ns);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
