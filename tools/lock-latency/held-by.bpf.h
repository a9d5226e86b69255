/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * held-by: who holds a lock that a thread waits for.
 *
 * A mutex, an rt_mutex and the writer's side of a rwsem have a pointer to their owner, which is
 * read when a wait begins.  The thread that wakes a waiter of a lock without an owner has released
 * it.
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

struct mutex___plain {
	struct {
		__s64 counter;
	} owner;
} __attribute__((preserve_access_index));

struct rw_semaphore___plain {
	struct {
		__s64 counter;
	} owner;
} __attribute__((preserve_access_index));

/* The task that owns the lock; 0: not known, or *SHARED. */
static __always_inline __u64 owner_of(const struct lock_id *id, __u32 *shared)
{
	const struct rw_semaphore___plain *rwsem = (void *)id->lock;
	const struct rwbase_rt___own *rwbase = (void *)id->lock;
	const struct mutex___plain *mutex = (void *)id->lock;
	const struct rt_mutex_base *rt = (void *)id->lock;
	__u64 word = 0;

	switch (id->kind) {
	case LOCK_MUTEX:
		if (bpf_core_field_exists(mutex->owner))
			word = BPF_CORE_READ(mutex, owner.counter);
		return word & ~(__u64)MUTEX_FLAGS;
	case LOCK_RWSEM_READ:
	case LOCK_RWSEM_WRITE:
		if (bpf_core_field_exists(rwsem->owner))
			word = BPF_CORE_READ(rwsem, owner.counter);
		*shared = word & RWSEM_READERS;
		return *shared ? 0 : word & ~(__u64)RWSEM_FLAGS;
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

/* The system call of another thread: its registers are where the current one's are. */
static __always_inline __u32 holder_call(struct task_struct *task)
{
	const struct pt_regs *own = return_registers(current_task()), *regs;
	__u64 at = 0;

	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return 0;
	bpf_probe_read_kernel(&at, sizeof(at), &own); /* for the verifier a number */
	at -= (__u64)BPF_CORE_READ(current_task(), stack);
	regs = (void *)BPF_CORE_READ(task, stack) + at;
#if defined(__TARGET_ARCH_x86)
	if ((long)BPF_CORE_READ(regs, orig_ax) < 0 || (int)BPF_CORE_READ(regs, ax) != -38)
		return 0;
	return BPF_CORE_READ(regs, orig_ax) + 1;
#else
	if (BPF_CORE_READ(regs, syscallno) < 0)
		return 0;
	return BPF_CORE_READ(regs, syscallno) + 1;
#endif
}

static __always_inline void holder_fill(struct lock_holder *h, struct task_struct *task)
{
	h->pid = task_pid(task);
	h->tid = task_tid(task);
	bpf_probe_read_kernel_str(h->comm, sizeof(h->comm), &task->comm);
	if (plumb_config.by & LOCK_BY_DOING)
		h->call = holder_call(task);
}

/* At the beginning of a wait, and when it goes on: who holds the lock. */
static __always_inline void held_by(struct lock_wait *w, bool begins, __u64 now)
{
	__u64 owner = owner_of(&w->id, &w->held.shared);

	if (begins && owner)
		holder_fill(&w->held, (struct task_struct *)owner);
	else if (owner && owner != w->owner)
		w->handed_on = 1;
	if (begins)
		w->owner = owner;
	held_lock_waits(w, begins, owner, now);
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

/*
 * The thread WAITER is woken by the current thread TASK: if the lock has no owner, that has
 * released it.  The waiter is its owner next, unless another thread is faster.
 */
static __always_inline void released_by(void *ctx, __u64 waiter, struct task_struct *task,
					__u64 now)
{
	struct lock_wait *w = waiter_wait(waiter);
	__u32 shared = 0;
	__u64 owner;

	if (!w)
		return;
	owner = owner_of(&w->id, &shared);
	if (owner && owner != waiter)
		return;
	place_release(ctx, w);
	if (!w->owner)
		holder_fill(&w->released, task);
	else if (w->owner != (__u64)task)
		w->handed_on = 1;
	held_lock_passes(w, is_shared(w->id.kind) ? 0 : waiter, now);
}

/* The current thread, a waiter, goes to sleep: another thread has the lock. */
static __always_inline void waiter_sleeps(__u64 task, __u64 now)
{
	struct lock_wait *w = waiter_wait(task);
	__u64 owner;

	if (!w)
		return;
	owner = owner_of(&w->id, &w->held.shared);
	if (owner && w->owner && owner != w->owner)
		w->handed_on = 1;
	if (owner != task)
		held_lock_passes(w, owner, now);
}
