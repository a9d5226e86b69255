/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * longest: of a call, its longest sleep and preemption, and the stacks of the longest of all.  The
 * file that includes it has defined struct where, PLUMB_THREAD_OWN, with what they need.
 */
#pragma once

#include "syscall-slower.h"

const volatile __u32 with_stacks = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the loader */
} slow_calls SEC(".maps");

static __always_inline void longest_leaves(struct bpf_raw_tracepoint_args *ctx,
					   struct call_thread *t, struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id(), tgid;

	if (t->preempted)
		waker_preempter(&t->own.taken_by, task, (struct task_struct *)ctx->args[2]);
	if (!with_stacks)
		return;
	t->own.kernel = stack_number(ctx, 0, cpu);
	t->own.user = stack_user(ctx, task, cpu, &tgid);
}

static __always_inline void longest_was_offcpu(struct call_thread *t, __u64 off_cpu, __u64 waited,
					       const struct sched_stay *stay)
{
	struct where *w = &t->own;

	if (t->preempted && off_cpu > w->lacked) {
		w->lacked = off_cpu;
		w->preempted_by = w->taken_by;
		waker_had_cpu(&w->preempted_by, t->cpu, stay->began - off_cpu, stay->began);
	} else if (!t->preempted && off_cpu > w->slept) {
		w->slept = off_cpu;
		w->woken_by = stay->waker;
	}
	if (!with_stacks || off_cpu < w->longest)
		return;
	w->longest = off_cpu;
	w->longest_wait = waited;
	w->preempted = t->preempted;
	w->longest_kernel = w->kernel;
	w->longest_user = w->user;
}

/* S has none of it yet. */
static __always_inline void longest_describe(struct slow_call *s, const struct call_thread *t)
{
	const struct where *w = &t->own;
	int i;

	for (i = 0; i < PLUMB_PARTS; i++)
		s->off[i] = t->off[i];
	if (w->slept)
		s->woken_by = w->woken_by;
	if (w->lacked)
		s->preempted_by = w->preempted_by;
	s->kernel = s->user = PLUMB_NO_STACK;
	if (!with_stacks || !w->longest)
		return;
	s->longest = w->longest;
	s->longest_wait = w->longest_wait;
	s->preempted = w->preempted;
	s->kernel = w->longest_kernel;
	s->user = w->longest_user;
}
