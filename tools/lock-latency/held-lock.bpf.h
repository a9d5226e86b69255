/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * held-lock: what the owners of a lock have done, one after the other, as long as threads wait for
 * it.  A wait takes the difference of the sums at its beginning and its end.
 */
#pragma once

#include "holder.bpf.h"
#include "owner.bpf.h"
#include "waits.bpf.h"

/* Whether a thread that has got the lock is not its only owner. */
static __always_inline bool is_shared(__u32 kind)
{
	return kind == LOCK_RWSEM_READ || kind == LOCK_RT_READ;
}

#define HELD_LOCK_BITS  12
#define HELD_LOCK_TURNS 16
#define HELD_BY_READERS 1ULL /* is no task */

struct held_lock {
	__u64 lock;
	__u64 waits; /* 0: free */
	__u32 busy;
	__u32 kind;
	__u64 owner;             /* with a mark; 0: not known */
	__u64 sums[LOCK_ON_CPU]; /* that of LOCK_UNKNOWN as those in owner_mark */
	__u64 from[LOCK_OFF];    /* the sums of the owner's mark, as far as they are in SUMS */
	struct lock_sleeps slept;
	__u64 slept_from[LOCK_PLACES]; /* the same of the mark's SLEPT */
	__u64 last;  /* the task that is known to have had it last, or HELD_BY_READERS; 0: none */
	__u64 turns; /* how many such there were, one after the other */
	struct lock_holder holders[HELD_LOCK_TURNS]; /* the last of them */
};

/* By address.  Of two locks with the same place one is not followed. */
static struct held_lock held_locks[1 << HELD_LOCK_BITS] = {};

static __always_inline struct held_lock *held_lock_at(__u64 lock)
{
	__u64 place = (lock >> 2) * 0x9e3779b97f4a7c15ULL >> (64 - HELD_LOCK_BITS);

	barrier_var(place); /* the mask is for the verifier */
	return &held_locks[place & ((1 << HELD_LOCK_BITS) - 1)];
}

/* Programs on other CPUs hold it for some 100 ns; one that interrupts such a program gives up. */
#define HELD_LOCK_TRIES 64

static __always_inline bool held_lock_enter(struct held_lock *l)
{
	__u32 i;

	for (i = 0; i < HELD_LOCK_TRIES; i++)
		if (!__sync_val_compare_and_swap(&l->busy, 0, 1))
			return true;
	return false;
}

static __always_inline void held_lock_leave(struct held_lock *l)
{
	__sync_lock_test_and_set(&l->busy, 0);
}

static __always_inline void held_lock_settle_sleeps(struct held_lock *l, const struct owner_mark *m,
						    __u64 now)
{
	__u32 i, to;
	__u64 sum;

	for (i = 0; i < LOCK_PLACES; i++) {
		sum = owner_sum(&m->slept.ns[i], now);
		if ((__s64)(sum - l->slept_from[i]) > 0) {
			to = sleeps_entry(&l->slept, m->slept.at[i]);
			barrier_var(to); /* the mask is for the verifier */
			l->slept.ns[to & (LOCK_PLACES - 1)] += sum - l->slept_from[i];
		}
		l->slept_from[i] = sum;
	}
}

/* Adds what the owner has done until NOW. */
static __always_inline void held_lock_settle(struct held_lock *l, __u64 now)
{
	struct owner_mark *m = l->owner ? owner_mark(l->owner) : NULL;
	__u64 sum;
	__u32 i;

	if (m && owner_has_places())
		held_lock_settle_sleeps(l, m, now);
	for (i = 0; m && i < LOCK_OFF; i++) {
		sum = owner_sum(&m->off[i], now);
		/* The clocks of CPUs can differ a little. */
		if ((__s64)(sum - l->from[i]) > 0)
			l->sums[i] += sum - l->from[i];
		l->from[i] = sum;
	}
}

static __always_inline void held_lock_has(struct held_lock *l, __u64 owner, __u64 now)
{
	struct owner_mark *m;
	__u32 i;

	if (l->owner == owner)
		return;
	held_lock_settle(l, now);
	if (l->owner)
		owner_end(l->owner);
	else
		l->sums[LOCK_UNKNOWN] += now;
	m = owner ? owner_begin((struct task_struct *)owner, now) : NULL;
	l->owner = m ? owner : 0;
	if (m)
		m->lock = l->lock;
	for (i = 0; m && i < LOCK_OFF; i++)
		l->from[i] = owner_sum(&m->off[i], now);
	for (i = 0; m && owner_has_places() && i < LOCK_PLACES; i++)
		l->slept_from[i] = owner_sum(&m->slept.ns[i], now);
	if (!m)
		l->sums[LOCK_UNKNOWN] -= now;
}

static __always_inline void held_lock_take(struct held_lock *l, const struct lock_id *id, __u64 now)
{
	if (l->owner) /* left by a wait whose end gave up */
		owner_end(l->owner);
	l->lock = id->lock;
	l->kind = id->kind;
	l->owner = 0;
	l->last = 0;
	__builtin_memset(l->sums, 0, sizeof(l->sums));
	__builtin_memset(&l->slept, 0, sizeof(l->slept));
	l->sums[LOCK_UNKNOWN] = -now;
}

static __always_inline __u64 held_lock_sum(const struct held_lock *l, __u32 part, __u64 now)
{
	return (__s64)l->sums[part] < 0 ? l->sums[part] + now : l->sums[part];
}

static __always_inline struct lock_holder *held_lock_holder(struct held_lock *l, __u64 turn)
{
	barrier_var(turn); /* the mask is for the verifier */
	return &l->holders[turn & (HELD_LOCK_TURNS - 1)];
}

/* The thread TASK, or readers, unless 0, have the lock, or had it until now. */
static __always_inline void held_lock_had(struct held_lock *l, __u64 task)
{
	struct lock_holder *h = held_lock_holder(l, l->turns);

	if (!task || task == l->last)
		return;
	l->last = task;
	l->turns++;
	__builtin_memset(h, 0, sizeof(*h));
	if (task == HELD_BY_READERS)
		h->shared = 1;
	else
		holder_fill(h, (struct task_struct *)task);
}

static __always_inline bool held_lock_last_is(const struct lock_wait *w, __u64 task)
{
	const struct held_lock *l = held_lock_at(w->id.lock);

	return l->lock == w->id.lock && l->last == task;
}

/* If it was not known who had the lock when W began, that is the first one after it. */
static __always_inline void held_lock_tell(struct held_lock *l, struct lock_wait *w)
{
	const __u64 n = l->turns - w->turns;

	if (!w->known && n && n <= HELD_LOCK_TURNS)
		w->held = *held_lock_holder(l, w->turns);
}

/* The wait W begins or goes on; the lock has this OWNER now, 0: none, or SHARED by readers. */
static __noinline int held_lock_waits(struct lock_wait *w, bool begins, __u64 owner, bool shared,
				      __u64 now)
{
	struct held_lock *l;
	__u32 i;

	if (!w) /* for the verifier */
		return 0;
	l = held_lock_at(w->id.lock);
	if ((!begins && !w->followed) || !held_lock_enter(l))
		return 0;
	if (begins && (!l->waits || l->lock == w->id.lock)) {
		if (!l->waits)
			held_lock_take(l, &w->id, now);
		atomic_add(&l->waits, 1);
		w->followed = 1;
	}
	if (w->followed) {
		/*
		 * One without an owner is on its way to the next one, if that is known, which the
		 * thread that waits is not: it had the lock before.
		 */
		if (owner || shared || l->owner == w->task)
			held_lock_has(l, owner, now);
		if (begins && l->last == w->task)
			l->last = 0;
		if (owner != w->task)
			held_lock_had(l, shared ? HELD_BY_READERS : owner);
		if (begins)
			w->turns = l->turns;
		held_lock_tell(l, w);
		held_lock_settle(l, now);
	}
	for (i = 0; begins && w->followed && i < LOCK_ON_CPU; i++)
		w->sums[i] = held_lock_sum(l, i, now);
	for (i = 0; begins && w->followed && i < LOCK_PLACES; i++)
		w->slept[i] = l->slept.ns[i];
	held_lock_leave(l);
	return 0;
}

/*
 * The lock that W is for passes to the thread OWNER, or (0) to readers; FROM, as held_lock.last, is
 * known to have had it.
 */
static __noinline int held_lock_passes(struct lock_wait *w, __u64 from, __u64 owner, __u64 now)
{
	struct held_lock *l;

	if (!w || !w->followed)
		return 0;
	l = held_lock_at(w->id.lock);
	if (!held_lock_enter(l))
		return 0;
	held_lock_had(l, from);
	held_lock_tell(l, w);
	held_lock_has(l, owner, now);
	held_lock_leave(l);
	return 0;
}

/* The end of W was not seen. */
static __always_inline void held_lock_forget(const struct lock_wait *w)
{
	if (w->followed)
		atomic_add(&held_lock_at(w->id.lock)->waits, -1);
}

/* Where the lock's owners slept longest since W began. */
static __always_inline __u64 held_lock_slept_at(const struct held_lock *l,
						const struct lock_wait *w)
{
	__u64 most = 0, at = LOCK_PLACE_NONE, ns;
	__u32 i;

	for (i = 0; i < LOCK_PLACES; i++) {
		ns = l->slept.ns[i] - w->slept[i];
		if (ns > most) {
			most = ns;
			at = l->slept.at[i];
		}
	}
	return at;
}

/* W ends: others than the first owner have had the lock since it began. */
static __always_inline bool held_lock_went_on(const struct held_lock *l, const struct lock_wait *w)
{
	const __u64 own = is_shared(w->id.kind) ? HELD_BY_READERS : w->task;
	__u64 n = l->turns - w->turns;

	if (n && l->last == own) /* its own turn was seen already */
		n--;
	return n > !w->known;
}

/*
 * W, of NS ns, ends, and its thread has got the lock, unless FAILED.  OFF: the parts.
 */
static __noinline int held_lock_ends(struct lock_wait *w, bool failed, __u64 now, __u64 ns,
				     __u64 *off)
{
	struct held_lock *l;
	__u64 left = ns, part;
	__u32 i;

	if (!w || !off) /* for the verifier */
		return 0;
	l = held_lock_at(w->id.lock);
	if (!w->followed || !held_lock_enter(l)) {
		if (w->followed)
			atomic_add(&l->waits, -1);
		off[LOCK_UNKNOWN] = ns;
		return 0;
	}
	held_lock_settle(l, now);
	for (i = 0; i < LOCK_ON_CPU; i++) {
		part = held_lock_sum(l, i, now) - w->sums[i];
		off[i] = (__s64)part < 0 ? 0 : part < left ? part : left;
		left -= off[i];
	}
	w->asleep = held_lock_slept_at(l, w);
	held_lock_tell(l, w);
	w->handed_on = held_lock_went_on(l, w);
	if (!failed && !is_shared(w->id.kind))
		held_lock_had(l, w->task);
	/* The last one leaves no mark behind. */
	if (l->waits < 2)
		held_lock_has(l, 0, now);
	else if (!failed)
		held_lock_has(l, is_shared(w->id.kind) ? 0 : w->task, now);
	atomic_add(&l->waits, -1);
	held_lock_leave(l);
	off[LOCK_ON_CPU] = left;
	return 0;
}
