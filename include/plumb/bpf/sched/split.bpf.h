/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* split, BPF side: follows threads off the CPU, while they are inside a call. */
#pragma once

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/sched/sched.bpf.h>
#include <plumb/bpf/core/inflight-slots.bpf.h>
#include <plumb/bpf/sched/split.h>
#ifdef SCHED_MEANWHILE
#include <plumb/bpf/sched/meanwhile.bpf.h>
#endif

/* Of a thread that was runnable when it left: it had no CPU quota. */
#define SPLIT_THROTTLED 2

/*
 * Defined by the tool, which may note the places where a thread was off the CPU: at the entry of a
 * call; when the thread leaves its CPU; and when it is back, with the times in ns.  STAY
 * (sched.bpf.h) has the waker, if the tool defines SCHED_WAKERS.
 */
static __always_inline void split_begins(struct call_thread *t);
static __always_inline void split_leaves(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					 struct task_struct *task);
static __always_inline void split_was_offcpu(struct call_thread *t, __u64 off_cpu, __u64 waited,
					     const struct sched_stay *stay);

#ifdef SCHED_MEANWHILE
/* For split_was_offcpu(): tells what happened while the current thread was runnable. */
static __always_inline void split_meanwhile(const struct call_thread *t, __u64 off_cpu,
					    __u64 waited, const struct sched_stay *stay)
{
	__u32 cpu = t->preempted ? t->cpu : bpf_get_smp_processor_id();
	__u64 runnable = t->preempted ? off_cpu : waited;

	if (plumb_config.meanwhile && runnable)
		meanwhile_wait(cpu, stay->began - runnable, stay->began,
			       t->preempted == SPLIT_THROTTLED);
}
#endif

/* The thread has a CPU, whatever it waited for before. */
static __always_inline void split_forget(struct call_thread *t)
{
#ifdef SCHED_WAKERS
	if (t->left && !t->preempted)
		sched_asleep(-1);
#endif
	t->left = 0;
}

/* At the entry of a call: reset the times. */
static __always_inline void split_begin(struct call_thread *t)
{
	int i;

	split_begins(t);
	split_forget(t);
	for (i = 0; i < PLUMB_RETURN_PARTS; i++)
		t->off[i] = 0;
}

/* The current thread may have left the CPU. It is back: add the time that it was off the CPU. */
static __always_inline void split_back(struct call_thread *t, struct task_struct *task, __u32 cpu)
{
	struct sched_stay *stay;
	__u64 off_cpu, waited;

	if (!t->left)
		return;
	stay = sched_own_stay(task, cpu);
	if (!stay)
		return;
	off_cpu = stay->began - t->left;
	waited = sched_waited(stay, off_cpu);
	split_forget(t);
	/* It left a CPU whose clock is ahead of this one's. */
	if ((__s64)off_cpu < 0)
		return;
	split_was_offcpu(t, off_cpu, waited, stay);
	if (t->preempted) {
		t->off[PLUMB_PREEMPTED] += off_cpu;
	} else {
		t->off[PLUMB_BLOCKED] += off_cpu - waited;
		t->off[PLUMB_RUNQ] += waited;
	}
}

/*
 * At the exit of a call of NS ns: limit the times off the CPU, in t->off, to NS. Return the time on
 * the CPU.
 */
static __always_inline __u64 split_finish(struct call_thread *t, struct task_struct *task,
					  __u32 cpu, __u64 ns)
{
	int i;

	split_back(t, task, cpu);
	for (i = 0; i < PLUMB_PARTS; i++) {
		/* Clocks of CPUs can differ a little. */
		if (t->off[i] > ns)
			t->off[i] = ns;
		ns -= t->off[i];
	}
	return ns;
}

/* The current thread leaves its CPU, inside of a call. */
static __always_inline void split_left(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
				       struct task_struct *task, __u32 cpu, __u64 now)
{
	t->preempted = ctx->args[0] || sched_state(task) == TASK_RUNNING;
	if (t->preempted && plumb_config.meanwhile && sched_is_throttled(task))
		t->preempted = SPLIT_THROTTLED;
	t->cpu = cpu;
	t->left = now;
#ifdef SCHED_WAKERS
	if (!t->preempted)
		sched_asleep(1);
#endif
	split_leaves(ctx, t, task);
}
