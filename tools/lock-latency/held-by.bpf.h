/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * held-by: who holds a lock that a thread waits for.
 *
 * A mutex, an rt_mutex and the writer's side of a rwsem have a pointer to their owner, which is
 * read when a wait begins.  The thread that wakes a waiter of a lock without an owner has released
 * it, unless the waiter has a signal, or that thread waits for the lock, too.
 */
#pragma once

#include "held-lock.bpf.h"
#include "lock-name.bpf.h"
#include "places.bpf.h"
#include "waits.bpf.h"

/* Bits of the owner's word that are not part of the pointer. */
#define MUTEX_FLAGS   7 /* kernel/locking/mutex.h */
#define RWSEM_READERS 1 /* kernel/locking/rwsem.c */
#define RWSEM_FLAGS   7
#define RT_FLAGS      3 /* kernel/locking/rtmutex_common.h */

/* Of a rwsem's count; the number of readers begins at bit 8. */
#define RWSEM_WRITER    1
#define RWSEM_READER_AT 8

/* include/linux/sched.h */
#define TASK_WAKEKILL 0x0100

#define SIGKILL_BIT (1ULL << (9 - 1))

struct mutex___plain {
	struct {
		__s64 counter;
	} owner;
} __attribute__((preserve_access_index));

struct rw_semaphore___plain {
	struct {
		__s64 counter;
	} count, owner;
} __attribute__((preserve_access_index));

/*
 * The writer that owns the rwsem; 0: not known, or *SHARED.  The word has the last reader as long
 * as no writer comes, and a new writer is in the count first.
 */
static __always_inline __u64 owner_of_rwsem(const struct rw_semaphore___plain *rwsem, __u32 *shared)
{
	__s64 count;
	__u64 word;

	if (!bpf_core_field_exists(rwsem->owner))
		return 0;
	word = BPF_CORE_READ(rwsem, owner.counter);
	count = BPF_CORE_READ(rwsem, count.counter);
	*shared = !(count & RWSEM_WRITER) && count >> RWSEM_READER_AT > 0;
	return *shared || word & RWSEM_READERS ? 0 : word & ~(__u64)RWSEM_FLAGS;
}

/* The task that owns LOCK, of this kind; 0: not known, or *SHARED. */
static __always_inline __u64 owner_of(__u64 lock, __u32 kind, __u32 *shared)
{
	const struct rwbase_rt___own *rwbase = (void *)lock;
	const struct mutex___plain *mutex = (void *)lock;
	const struct rt_mutex_base *rt = (void *)lock;
	__u64 word = 0;

	switch (kind) {
	case LOCK_MUTEX:
		if (bpf_core_field_exists(mutex->owner))
			word = BPF_CORE_READ(mutex, owner.counter);
		return word & ~(__u64)MUTEX_FLAGS;
	case LOCK_RWSEM_READ:
	case LOCK_RWSEM_WRITE:
		return owner_of_rwsem((void *)lock, shared);
	case LOCK_RTMUTEX:
		return (__u64)BPF_CORE_READ(rt, owner) & ~(__u64)RT_FLAGS;
	case LOCK_RT_READ:
		if (bpf_core_field_exists(struct rw_semaphore___rt, rwbase))
			word = (__u64)BPF_CORE_READ(rwbase, rtmutex.owner);
		return word & ~(__u64)RT_FLAGS;
	case LOCK_RT_WRITE: /* it owns that itself, and waits for readers */
		*shared = 1;
	}
	return 0;
}

/* At the beginning of a wait, and when it goes on: who holds the lock. */
static __always_inline void held_by(struct lock_wait *w, bool begins, __u64 now)
{
	__u32 shared = 0;
	__u64 owner = owner_of(w->id.lock, w->id.kind, &shared);

	if (begins)
		holder_begins(w, owner, shared);
	held_lock_waits(w, begins, owner, shared, now);
}

/* ---- threads that may be woken by an owner ---- */

/* Waits of threads, by their places: other threads may have the same. */
static __u32 waiters[1 << OWNER_MARK_BITS] = {};

static __always_inline void waiter_changes(__u64 task, __u32 change)
{
	atomic_add(&waiters[owner_place(task)], change);
}

static __always_inline bool waiter_may_be(__u64 task)
{
	return waiters[owner_place(task)];
}

/* The wait that the thread TASK is in, for a lock that can have an owner; NULL: none. */
static __always_inline struct lock_wait *waiter_wait(__u64 task)
{
	struct plumb_thread_kept *kept = bpf_map_lookup_elem(&plumb_threads_by_task, &task);
	struct lock_wait *w;

	if (!kept || !kept->thread.depth)
		return NULL;
	w = wait_at(kept->thread.waits, kept->thread.depth - 1, LOCK_THREAD_WAITS);
	return w->id.kind <= LOCK_RT_WRITE ? w : NULL;
}

/* Whether the thread TASK, which sleeps, has a signal that wakes it. */
static __always_inline bool has_signal(struct task_struct *task)
{
	const long state = sched_state(task);
	__u64 signals = BPF_CORE_READ(task, pending.signal.sig[0]);

	if (state & TASK_INTERRUPTIBLE) {
		signals |= BPF_CORE_READ(task, signal, shared_pending.signal.sig[0]);
		return signals & ~BPF_CORE_READ(task, blocked.sig[0]);
	}
	return state & TASK_WAKEKILL && signals & SIGKILL_BIT;
}

static __always_inline bool is_rwsem(const struct lock_id *id)
{
	return id->kind == LOCK_RWSEM_READ || id->kind == LOCK_RWSEM_WRITE;
}

/*
 * As held_lock.last: the current thread TASK, which wakes a waiter of a lock, if it has released
 * that.  One that waits for the lock and gives up wakes others.  So does one that begins to wait
 * for a rwsem, just before its event.  The word of a rwsem does not tell readers from writers here:
 * a writer may have taken the lock meanwhile, and released it.
 */
static __always_inline __u64 releaser(void *ctx, struct task_struct *task, const struct lock_id *id)
{
	struct lock_wait *w = waiter_may_be((__u64)task) ? waiter_wait((__u64)task) : NULL;
	int text;

	if (w && w->id.lock == id->lock)
		return 0;
	text = is_rwsem(id) ? caller_text(ctx) : LOCK_TEXTS;
	if (text == LOCK_TEXT_UP_READ)
		return HELD_BY_READERS;
	return text == LOCK_TEXTS ? (__u64)task : 0;
}

/* Whether readers had the rwsem last: a writer leaves no owner there. */
static __always_inline bool readers_had(const struct lock_id *id)
{
	const struct rw_semaphore___plain *rwsem = (void *)id->lock;

	return is_rwsem(id) && bpf_core_field_exists(rwsem->owner) &&
	       BPF_CORE_READ(rwsem, owner.counter) & RWSEM_READERS;
}

/*
 * The thread WAITER is woken by the current thread TASK: if the lock has no owner, that has
 * released it.  The waiter is its owner next, unless another thread is faster.
 */
static __always_inline void released_by(void *ctx, __u64 waiter, struct task_struct *task,
					__u64 now)
{
	struct lock_wait *w = waiter_wait(waiter);
	__u64 owner, from = (__u64)task;
	__u32 shared = 0;

	if (!w || has_signal((struct task_struct *)waiter))
		return;
	owner = owner_of(w->id.lock, w->id.kind, &shared);
	if ((owner && owner != waiter) || (shared && w->id.kind == LOCK_RWSEM_WRITE))
		return;
	place_release(ctx, w);
	/*
	 * To a reader that is woken the lock belongs already.  That the last known owner had it is
	 * no news, for which no stack has to be walked.
	 */
	if (is_shared(w->id.kind) ? held_lock_last_is(w, HELD_BY_READERS) : readers_had(&w->id))
		from = HELD_BY_READERS;
	else if (!held_lock_last_is(w, from))
		from = releaser(ctx, task, &w->id);
	held_lock_passes(w, from, is_shared(w->id.kind) ? 0 : waiter, now);
}

/* The current thread, a waiter, leaves its CPU: another thread has the lock. */
static __always_inline void waiter_leaves(__u64 task, __u64 now)
{
	struct lock_wait *w = waiter_wait(task);
	__u32 shared = 0;
	__u64 owner;

	if (!w)
		return;
	owner = owner_of(w->id.lock, w->id.kind, &shared);
	if (owner != task)
		held_lock_waits(w, false, owner, shared, now);
}

/*
 * The thread TASK, with a mark as an owner, leaves its CPU.  If no thread was in the lock's queue
 * (those that wait spin, or have no CPU) it can have released the lock without an event.
 */
static __always_inline void owner_may_have_released(__u64 task, __u64 now)
{
	const struct owner_mark *m = owner_mark(task);
	struct held_lock *l;
	__u32 shared = 0;
	__u64 owner;

	if (!m)
		return;
	l = held_lock_at(m->lock);
	if (l->lock != m->lock || l->owner != task || l->kind > LOCK_RTMUTEX)
		return;
	owner = owner_of(l->lock, l->kind, &shared);
	if (owner == task || !held_lock_enter(l))
		return;
	if (l->owner == task)
		held_lock_has(l, owner, now);
	held_lock_leave(l);
}
