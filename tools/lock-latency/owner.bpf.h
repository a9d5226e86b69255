/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * owner: what the owner of a lock does while others wait for it.
 *
 * A thread that is known as an owner has a mark as long as there are such locks.  Its sums are of
 * the time that it was off the CPU since it got the mark, by reason.
 * While a reason applies, the time when that began is subtracted from its sum, which makes it
 * negative, so that one word is the sum and the state, and is changed by one addition.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/sched/sched-state.bpf.h>
#include "lock-latency.h"

#define OWNER_MARK_BITS 12

struct owner_mark {
	__u64 task;
	__u64 locks; /* 0: free */
	__u64 off[LOCK_OFF];
	__u64 lock; /* the last of them */
	__u64 pad[2];
	struct lock_sleeps slept; /* with places: what off[LOCK_ASLEEP] consists of */
};
_Static_assert(sizeof(struct owner_mark) == 128, "two cache lines");

/* By the address of the task.  Of two owners with the same place one has no mark. */
static struct owner_mark owner_marks[1 << OWNER_MARK_BITS] __attribute__((aligned(64))) = {};

/* Tasks are aligned to 64 bytes; the golden ratio spreads them (Knuth, vol. 3, 6.4). */
static __always_inline __u32 owner_place(__u64 task)
{
	__u64 place = (task >> 6) * 0x9e3779b97f4a7c15ULL >> (64 - OWNER_MARK_BITS);

	barrier_var(place); /* the mask is for the verifier */
	return place & ((1 << OWNER_MARK_BITS) - 1);
}

/* ---- places ---- */

/* Where each thread fell asleep last: it may become known as an owner only then. */
static struct {
	__u64 task, at;
} owner_places[1 << OWNER_MARK_BITS] = {};

static __always_inline bool owner_has_places(void)
{
	return plumb_config.by & (LOCK_BY_ASLEEP | PLUMB_BY_STACK);
}

/* The current thread TASK goes to sleep AT that place. */
static __always_inline void owner_place_is(__u64 task, __u64 at)
{
	__u32 i = owner_place(task);

	owner_places[i].task = task;
	owner_places[i].at = at;
}

static __always_inline __u64 owner_place_of(__u64 task)
{
	__u32 i = owner_place(task);

	return owner_places[i].task == task ? owner_places[i].at : LOCK_PLACE_UNKNOWN;
}

/* The entry of place AT, which is added if it is new. */
static __always_inline __u32 sleeps_entry(struct lock_sleeps *s, __u64 at)
{
	__u32 i;

	for (i = 0; i < LOCK_PLACES - 1; i++) {
		if (!s->at[i])
			s->at[i] = at;
		if (s->at[i] == at)
			return i;
	}
	s->at[i] = LOCK_PLACE_OTHER;
	return i;
}

/* ---- marks ---- */

static __always_inline struct owner_mark *owner_mark(__u64 task)
{
	struct owner_mark *m = &owner_marks[owner_place(task)];

	return m->locks && m->task == task ? m : NULL;
}

/* Why a thread that is not asleep has no CPU. */
static __always_inline __u32 owner_reason(struct task_struct *task)
{
	return sched_is_throttled(task) ? LOCK_QUOTA : LOCK_PREEMPTED;
}

/* A reason begins (SINCE is the time, negative) or ends (the time). */
static __always_inline void owner_add(struct owner_mark *m, __u32 reason, __u64 since)
{
	if (reason == LOCK_PREEMPTED)
		atomic_add(&m->off[LOCK_PREEMPTED], since);
	else if (reason == LOCK_QUOTA)
		atomic_add(&m->off[LOCK_QUOTA], since);
	else
		atomic_add(&m->off[LOCK_ASLEEP], since);
}

static __always_inline bool owner_is(const struct owner_mark *m, __u32 reason)
{
	return (__s64)m->off[reason] < 0;
}

/* SUM until NOW, also while it applies. */
static __always_inline __u64 owner_sum(const __u64 *sum, __u64 now)
{
	__u64 ns = *(const volatile __u64 *)sum;

	return (__s64)ns < 0 ? ns + now : ns;
}

static __always_inline void owner_sleeps(struct owner_mark *m, __u64 task, __u64 now)
{
	__u32 i;

	owner_add(m, LOCK_ASLEEP, -now);
	if (owner_has_places()) {
		i = sleeps_entry(&m->slept, owner_place_of(task));
		barrier_var(i); /* the mask is for the verifier */
		atomic_add(&m->slept.ns[i & (LOCK_PLACES - 1)], -now);
	}
}

static __always_inline void owner_slept(struct owner_mark *m, __u64 now)
{
	__u32 i;

	owner_add(m, LOCK_ASLEEP, now);
	for (i = 0; owner_has_places() && i < LOCK_PLACES; i++)
		if ((__s64)m->slept.ns[i] < 0)
			atomic_add(&m->slept.ns[i], now);
}

static __always_inline void owner_is_off(struct owner_mark *m, struct task_struct *task,
					 bool runnable, __u64 now)
{
	if (runnable)
		owner_add(m, owner_reason(task), -now);
	else
		owner_sleeps(m, (__u64)task, now);
}

/* TASK owns a lock that others wait for; NULL: there is no mark for it. */
static __always_inline struct owner_mark *owner_begin(struct task_struct *task, __u64 now)
{
	struct owner_mark *m = &owner_marks[owner_place((__u64)task)];

	if (m->locks && m->task != (__u64)task)
		return NULL;
	if (!m->locks) {
		m->task = (__u64)task;
		m->off[LOCK_PREEMPTED] = m->off[LOCK_QUOTA] = m->off[LOCK_ASLEEP] = 0;
		__builtin_memset(&m->slept, 0, sizeof(m->slept));
		if (!sched_is_on_cpu(task))
			owner_is_off(m, task, sched_state(task) == TASK_RUNNING, now);
	}
	atomic_add(&m->locks, 1);
	return m;
}

static __always_inline void owner_end(__u64 task)
{
	struct owner_mark *m = owner_mark(task);

	if (m)
		atomic_add(&m->locks, -1);
}

static __always_inline void owner_has_cpu(struct owner_mark *m, __u64 now)
{
	__u32 i;

	for (i = 0; i < LOCK_ASLEEP; i++)
		if (owner_is(m, i))
			owner_add(m, i, now);
	if (owner_is(m, LOCK_ASLEEP))
		owner_slept(m, now);
}

/* The thread TASK leaves its CPU at NOW, RUNNABLE or not. */
static __always_inline void owner_leaves(struct task_struct *task, bool runnable, __u64 now)
{
	struct owner_mark *m = owner_mark((__u64)task);

	if (!m)
		return;
	/* It may have come while it got the mark. */
	owner_has_cpu(m, now);
	owner_is_off(m, task, runnable, now);
}

static __always_inline void owner_comes(__u64 task, __u64 now)
{
	struct owner_mark *m = owner_mark(task);

	if (m)
		owner_has_cpu(m, now);
}

static __always_inline void owner_wakes(__u64 task, __u64 now)
{
	struct owner_mark *m = owner_mark(task);

	if (!m || !owner_is(m, LOCK_ASLEEP))
		return;
	owner_slept(m, now);
	owner_add(m, LOCK_PREEMPTED, -now);
}
