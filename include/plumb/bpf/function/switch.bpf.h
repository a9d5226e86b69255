/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * switch: the time off the CPU of threads that are inside a call, by part (split.h).
 *
 * Programs of a call can be preempted, and so cannot settle what the thread was off the CPU: that
 * is done in the switch by which it gets its CPU back. The state of a thread that is not the
 * current one is in task storage only for programs with typed arguments (BTF), else in the hash.
 */
#pragma once

#include <plumb/bpf/function/frames.bpf.h>
#include <plumb/bpf/sched/sched-state.bpf.h>

/* When a CPU's last switch was: ns, CLOCK_MONOTONIC, a cache line for each. */
struct function_switch {
	__u64 at;
	__u64 pad[7];
};

PLUMB_MAP(plumb_switches, ARRAY, 1 /* set by the loader: possible CPUs */, __u32,
	  struct function_switch);

/* Clocks of CPUs can differ a little. */
static __always_inline __u64 function_since(__u64 then, __u64 now)
{
	return (__s64)(now - then) > 0 ? now - then : 0;
}

/* A thread got a CPU again. */
static __always_inline void function_comes(struct function_thread *t, __u64 came)
{
	__u64 off = function_since(t->left, came);
	__u64 waited = t->woken ? function_since(t->woken, came) : 0;

	if (waited > off) /* it was woken while it was still leaving */
		waited = off;
	if (PLUMB_FRAME_PARTS < PLUMB_PARTS) {
		t->off[0] += off;
	} else if (t->preempted) {
		t->off[PLUMB_PREEMPTED] += off;
	} else {
		t->off[PLUMB_BLOCKED] += off - waited;
		t->off[PLUMB_RUNQ] += waited;
	}
	t->left = t->woken = 0;
	t->returns++;
}

/*
 * The thread is running, and has left its CPU before: the kernel did not report the switch by which
 * it got one again, as happens while another tracer attaches or detaches. That was after the last
 * switch of this CPU that was reported, and after the thread's wakeup.
 */
static __always_inline void function_was_back(struct function_thread *t)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct function_switch *last = bpf_map_lookup_elem(&plumb_switches, &cpu);
	__u64 came = last ? last->at : t->left;

	function_comes(t, (__s64)(t->woken - came) > 0 ? t->woken : came);
}

/* A thread leaves its CPU. */
static __always_inline void function_leaves(struct function_thread *t, struct task_struct *task,
					    bool preempt, __u64 now)
{
	if (t->left)
		function_was_back(t);
	t->left = now;
	t->preempted = preempt || sched_state(task) == TASK_RUNNING;
}

static __always_inline void function_switched(struct function_thread *leaves,
					      struct function_thread *comes,
					      struct task_struct *task, bool preempt)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct function_switch *last = bpf_map_lookup_elem(&plumb_switches, &cpu);
	__u64 now = bpf_ktime_get_ns();

	if (leaves && leaves->depth)
		function_leaves(leaves, task, preempt, now);
	if (comes && comes->left)
		function_comes(comes, now);
	if (last)
		last->at = now;
}

/* Loaded with --split only.  A wakeup that a thread no longer needs is replaced by its next. */
static __always_inline void function_woken(struct function_thread *t)
{
	if (t && t->depth)
		t->woken = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_switch")
int thread_switch_btf(__u64 *ctx)
{
	struct task_struct *leaves = (struct task_struct *)ctx[1];
	struct task_struct *comes = (struct task_struct *)ctx[2];

	function_switched(inflight_get(leaves), inflight_get(comes), leaves, ctx[0]);
	return 0;
}

SEC("raw_tp/sched_switch")
int thread_switch_raw(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *leaves = (struct task_struct *)ctx->args[1];

	function_switched(inflight_get(leaves), inflight_get((struct task_struct *)ctx->args[2]),
			  leaves, ctx->args[0]);
	return 0;
}

SEC("tp_btf/sched_waking")
int thread_waking_btf(__u64 *ctx)
{
	function_woken(inflight_get((struct task_struct *)ctx[0]));
	return 0;
}

SEC("raw_tp/sched_waking")
int thread_waking_raw(struct bpf_raw_tracepoint_args *ctx)
{
	function_woken(inflight_get((struct task_struct *)ctx->args[0]));
	return 0;
}
