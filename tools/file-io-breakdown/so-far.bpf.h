/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* so-far: the parts of a call that has not ended. Its program is run by the loader. */
#pragma once

#include "call.bpf.h"
#include <plumb/bpf/sched/sched.bpf.h>

struct io_so_far io_so_far = {};

/* Since when the thread waits for a CPU; 0: it does not. */
static __always_inline __u64 so_far_runnable(__u64 task)
{
	const struct sched_wait *places = &sched_waits[sched_set(task) * SCHED_PLACES];
	int i;

	for (i = 0; i < SCHED_PLACES; i++)
		if (places[i].task == task)
			return places[i].since;
	return 0;
}

/* The part that the sleep of a call adds to now. */
static __always_inline enum io_part so_far_asleep(const struct io_call *c)
{
	struct io_disk *d = call_disk(c);

	if (c->in_device > 0)
		return IO_DEVICE;
	if (c->bios > 0 && (c->held > 0 || c->waits == IO_WAITS_LIMIT))
		return IO_LIMIT;
	if (c->bios > 0)
		return c->flushes > 0 && d && d->flushes > 0 ? IO_DEVICE : IO_QUEUE;
	if (d && call_can_wait_for_others(c) && d->in_device > 0)
		return IO_OTHER_DEVICE;
	if (d && call_can_wait_for_others(c) && d->bios > 0)
		return IO_OTHER_QUEUE;
	return call_waits(c);
}

/*
 * Add the time since T left its CPU, until NOW. STAY: of the CPU on which it runs or ran last. T
 * itself is changed only when the thread is back. Return the time that the thread was asleep.
 */
static __always_inline __u64 so_far_away(const struct call_thread *t, __u64 now,
					 const struct sched_stay *stay)
{
	__u64 task = t->own.task, away, since, asleep, idle;
	bool runs = stay && stay->task == task && stay->began >= t->left;

	io_so_far.in = IO_ON_CPU;
	if (!t->left || (__s64)(now - t->left) < 0)
		return 0;
	away = (runs ? stay->began : now) - t->left;
	if (t->preempted) {
		io_so_far.waited.off[IO_PREEMPTED] += away;
		io_so_far.in = runs ? IO_ON_CPU : IO_PREEMPTED;
		return 0;
	}
	since = runs ? stay->since : so_far_runnable(task);
	asleep = since > t->left ? at_most(since - t->left, away) : away;
	idle = runs ? sched_waited_idle(stay, away - asleep) : 0;
	io_so_far.waited.off[IO_WAKE] += idle;
	io_so_far.waited.off[IO_RUNQ] += away - asleep - idle;
	if (!runs)
		io_so_far.in = t->own.waits == IO_RUNS ? IO_RUNQ : so_far_asleep(&t->own);
	return asleep;
}

/* The call that began at START has ended, and its thread waits on its way out. */
static __always_inline void so_far_held(__u64 task, __u64 start, __u64 now)
{
	struct return_held *h = bpf_map_lookup_elem(&plumb_held, &task);

	if (!h || !h->ret.left || h->ret.ended - h->ret.ns != start)
		return;
	io_so_far.in = IO_RETURN;
	io_so_far.waited = h->call.waited;
	if ((__s64)(now - h->ret.left) > 0)
		io_so_far.waited.off[IO_RETURN] += now - h->ret.left;
}

/*
 * The arguments: the address of a task, the time when its call began, the present time, the CPU on
 * which it runs or ran last. The result is in io_so_far.
 */
SEC("raw_tp/sys_enter")
int call_so_far(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 task = ctx->args[0], now = ctx->args[2], ns[IO_PARTS];
	struct plumb_thread_kept *kept = bpf_map_lookup_elem(&plumb_threads_by_task, &task);
	struct call_thread *t;
	__u64 blocked;
	int i;

	io_so_far.in = IO_ALL_PARTS;
	if (!kept)
		return 0;
	t = &kept->thread;
	if (!t->start) {
		so_far_held(task, ctx->args[1], now);
		return 0;
	}
	if (t->start != ctx->args[1])
		return 0;
	call_account(&t->own, now);
	divide_runnable(t, io_so_far.waited.off);
	blocked = t->off[PLUMB_BLOCKED] + so_far_away(t, now, sched_stay(ctx->args[3]));
	for (i = 0; i < IO_PARTS; i++)
		ns[i] = t->own.ns[i] + t->own.slept[i];
	divide(ns, blocked, io_so_far.waited.off);
	describe_waits(&io_so_far.waited, &t->own);
	return 0;
}
