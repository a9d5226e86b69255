/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * split, BPF face: follows threads off the CPU, only those that are inside a call.
 */
#ifndef PLUMB_SPLIT_BPF_H
#define PLUMB_SPLIT_BPF_H

#include <plumb/filter.bpf.h>
#include <plumb/sched.bpf.h>
#include <plumb/seats.bpf.h>
#include <plumb/split.h>

/*
 * A tool that wants to know where a thread was off the CPU defines SPLIT_BEGINS(t), as
 * a call begins, SPLIT_LEAVES(ctx, t, task), as it leaves, and SPLIT_WAS_AWAY(t, away,
 * waited), ns, once it is back.
 */
#ifndef SPLIT_LEAVES
#define SPLIT_BEGINS(t)
#define SPLIT_LEAVES(ctx, t, task)
#define SPLIT_WAS_AWAY(t, away, waited)
#endif

/* A call begins: it has been nowhere yet. */
static __always_inline void split_begin(struct plumb_thread *t)
{
	int i;

	SPLIT_BEGINS(t);
	t->left = 0;
	for (i = 0; i < PLUMB_PARTS; i++)
		t->off[i] = 0;
}

/* The thread may have left the CPU; now it is back, and how long it was away is known. */
static __always_inline void split_back(struct plumb_thread *t, struct task_struct *task)
{
	__u64 away, waited;

	if (!t->left)
		return;
	away = current_read(task, sched_info.last_arrival) - t->left;
	waited = current_read(task, sched_info.run_delay) - t->delay;
	t->left = 0;
	/* It was woken by a CPU whose clock is ahead of this one's. */
	if ((__s64)away < 0)
		away = 0;
	if (waited > away)
		waited = away;
	SPLIT_WAS_AWAY(t, away, waited);
	if (t->runnable) {
		t->off[PLUMB_PREEMPTED] += away;
	} else {
		t->off[PLUMB_BLOCKED] += away - waited;
		t->off[PLUMB_WAITING] += waited;
	}
}

static __always_inline void split_leave(struct plumb_thread *t, struct task_struct *task,
					bool preempted)
{
	split_back(t, task);
	t->runnable = preempted || sched_state(task) == TASK_RUNNING;
	t->delay = current_read(task, sched_info.run_delay);
	t->left = sched_clock(task);
}

/*
 * A call of NS ns ends: what it was off the CPU, in t->off, is at most that.  Returns
 * what it was on the CPU.
 */
static __always_inline __u64 split_finish(struct plumb_thread *t, struct task_struct *task,
					  __u64 ns)
{
	int i;

	split_back(t, task);
	for (i = 0; i < PLUMB_PARTS; i++) {
		/* The scheduler's clock is another one. */
		if (t->off[i] > ns)
			t->off[i] = ns;
		ns -= t->off[i];
	}
	return ns;
}

/* Loaded only where calls are split. */
SEC("raw_tp/sched_switch")
int thread_leaves(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	struct plumb_seat *seat;
	struct plumb_thread *t;

	if (!filter_thread(task))
		return 0;
	t = inflight_get(task);
	if (!t)
		return 0;
	seat = seat_of(t, task);
	if (!seat && !t->start)
		return 0;
	split_leave(t, task, ctx->args[0]);
	SPLIT_LEAVES(ctx, t, task);
	if (seat)
		seat->left = 1;
	return 0;
}

#endif
