/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offcpu: the programs of tools that trace only how threads leave their CPU. A tool that keeps a
 * state of threads defines it first (inflight.bpf.h); the state is freed at the thread's exit.
 */
#ifndef PLUMB_OFFCPU_BPF_H
#define PLUMB_OFFCPU_BPF_H

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/sched/sched.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>

/* Included after all that the last switch of the current thread can use. */
static __always_inline void offcpu_end(struct task_struct *task __attribute__((unused)))
{
#ifndef PLUMB_STATELESS
	if (sched_state(task) & TASK_DEAD)
		inflight_drop(task);
#endif
}

/*
 * The programs call the tool's LEAVES(ctx, task, cpu, now) when a thread leaves its CPU, and
 * ENDS(ctx, task, cpu), for what is known of the thread so far, before its parent is notified of
 * its exit.
 */
#define OFFCPU_PROGRAMS(leaves, ends)                                                              \
	SEC("raw_tp/sched_switch")                                                                 \
	int on_leave(struct bpf_raw_tracepoint_args *ctx)                                          \
	{                                                                                          \
		struct task_struct *task = current_task();                                         \
		__u32 cpu = bpf_get_smp_processor_id();                                            \
		__u64 now = bpf_ktime_get_ns();                                                    \
                                                                                                   \
		if (current_host_tid(task)) {                                                      \
			leaves(ctx, task, cpu, now);                                               \
			offcpu_end(task);                                                          \
		}                                                                                  \
		sched_switched(ctx, task, cpu, now);                                               \
		return 0;                                                                          \
	}                                                                                          \
	SEC("raw_tp/sched_process_exit")                                                           \
	int thread_ends(struct bpf_raw_tracepoint_args *ctx)                                       \
	{                                                                                          \
		ends(ctx, current_task(), bpf_get_smp_processor_id());                             \
		return 0;                                                                          \
	}

#endif
