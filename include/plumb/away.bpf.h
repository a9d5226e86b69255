/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * away: the state of a thread for tools that see it leave its CPU, and nothing else.
 * It lasts until the thread leaves for good.
 */
#ifndef PLUMB_AWAY_BPF_H
#define PLUMB_AWAY_BPF_H

#include <plumb/filter.bpf.h>
#include <plumb/sched.bpf.h>

struct plumb_thread {
	__u64 left;         /* when, by sched_clock(); 0: it was not seen to leave */
	__u64 delay, stays; /* its run_delay and pcount then (sched_info) */
	/* For tools that take stacks: */
	__s32 kernel[2]; /* where it was last, asleep and runnable */
	__s32 user;
	__u32 tgid; /* of the user stack */
	__u32 runnable, what;
};

#include <plumb/inflight.bpf.h>
#include <plumb/lifecycle.bpf.h>

/* The state of the current thread, which leaves its CPU; NULL: it is not wanted. */
static __always_inline struct plumb_thread *away_thread(struct task_struct *task, __u32 cpu)
{
	struct plumb_thread *t;

	if (!filter_thread(task) || !filter_entry(task))
		return NULL;
	t = inflight_make(task);
	if (!t)
		ledger_count(cpu, no_state);
	return t;
}

/* After all else that the current thread's leave gives rise to: was it its last? */
static __always_inline void away_end(struct task_struct *task)
{
	if (!(sched_state(task) & TASK_DEAD))
		return;
	inflight_drop(task);
	filter_exit(task);
}

/*
 * The programs, for a tool's LEAVES(ctx, t, task, cpu), when a thread leaves its CPU, and
 * ENDS(the same), for what is known of it so far, before anyone is told that its process
 * has ended.
 */
#define AWAY_PROGRAMS(leaves, ends)                                                                \
	SEC("raw_tp/sched_switch")                                                                 \
	int on_leave(struct bpf_raw_tracepoint_args *ctx)                                          \
	{                                                                                          \
		struct task_struct *task = current_task();                                         \
		__u32 cpu = bpf_get_smp_processor_id();                                            \
		struct plumb_thread *t;                                                            \
                                                                                                   \
		if (!current_tid(task))                                                            \
			return 0;                                                                  \
		t = away_thread(task, cpu);                                                        \
		if (t)                                                                             \
			leaves(ctx, t, task, cpu);                                                 \
		away_end(task);                                                                    \
		return 0;                                                                          \
	}                                                                                          \
	SEC("raw_tp/sched_process_exit")                                                           \
	int thread_ends(struct bpf_raw_tracepoint_args *ctx)                                       \
	{                                                                                          \
		struct task_struct *task = current_task();                                         \
		struct plumb_thread *t = inflight_get(task);                                       \
                                                                                                   \
		if (t)                                                                             \
			ends(ctx, t, task, bpf_get_smp_processor_id());                            \
		return 0;                                                                          \
	}

#endif
