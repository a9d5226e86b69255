/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rows: time of the current thread is added to the row of what it did or waited for. */
#pragma once

#include <plumb/bpf/core/inflight.bpf.h>
#include <plumb/bpf/sched/meanwhile.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

/* ns: of those who wait less for a CPU it is not told on which ones they may run. */
#define LONG_WAIT 100000

/*
 * Whether rows are getting scarce, as with hundreds of threads that wake one another: then new ones
 * tell less of what threads waited for, so that no time is without a row.
 */
__u32 wall_crowded = 0; /* not static: clang would make a byte of it */

/*
 * The key that a CPU's program fills in: on the stacks of functions that call one another there is
 * no room for several.
 */
PLUMB_MAP(wall_keys, PERCPU_ARRAY, 1, __u32, struct wall_key);

static __always_inline struct wall_key *new_key(enum wall_kind kind)
{
	__u32 zero = 0;
	struct wall_key *key = bpf_map_lookup_elem(&wall_keys, &zero);

	if (!key)
		return NULL;
	__builtin_memset(key, 0, sizeof(*key));
	key->stack.kernel = key->stack.user = PLUMB_NO_STACK;
	key->kind = kind;
	return key;
}

/* The row of KEY, or of what of it is told when rows are scarce. */
static __always_inline __u32 row_of(struct task_struct *task, struct wall_key *key, __u32 cpu)
{
	__u32 slot;

	if (wall_crowded) {
		key->stack.user = PLUMB_NO_STACK;
		key->stack.tgid = 0;
	}
	if (wall_crowded && key->kind != WALL_THROTTLED) {
		key->other.tid = 0;
		if (key->kind == WALL_RUNNABLE)
			key->other.pid = 0;
	}
	slot = key_cpu_slot(task, key, cpu);
	if (slot > plumb_config.slots / 2)
		wall_crowded = 1;
	return slot;
}

static __always_inline void add_time(struct task_struct *task, struct wall_key *key, __u64 ns)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals = totals_of(row_of(task, key, cpu), cpu);

	if (!totals)
		return;
	totals_add_call(totals, 0);
	totals_add_time(totals, ns);
}

/* By tid, as they were when they last waited long for a CPU. */
PLUMB_MAP(wall_waiters, LRU_HASH, 2048, __u32, struct plumb_meanwhile);

/* The current thread could not run for NS, and meanwhile M was so. */
static __always_inline void meanwhile_add(struct plumb_meanwhile *m, __u64 ns)
{
	const bool quota = m->kind == PLUMB_MEANWHILE_QUOTA;
	struct wall_key *key;

	if (m->kind == PLUMB_MEANWHILE_WAITER) {
		bpf_map_update_elem(&wall_waiters, &m->tid, m, BPF_ANY);
		return;
	}
	key = new_key(quota ? WALL_THROTTLED : WALL_RUNNABLE);
	if (!key)
		return;
	if (quota) {
		key->quota.cgroup = m->cgroup;
		key->quota.quota = m->quota;
		key->quota.period = m->period;
	} else if (m->kind == PLUMB_MEANWHILE_THREAD) {
		key->other.kind = PLUMB_PREEMPTER;
		key->other.pid = m->pid;
		key->other.tid = m->tid;
		key->other.nice = m->nice;
		key->other.n_allowed = m->n_allowed;
		key->other.cpu = m->cpu;
		__builtin_memcpy(key->other.comm, m->comm, sizeof(key->other.comm));
	} else if (m->kind == PLUMB_MEANWHILE_IDLE) {
		key->other.kind = PLUMB_PREEMPTER_IDLE;
	}
	add_time(current_task(), key, ns);
}

/*
 * NS without a stack.  As global functions this one and add_sleep() are verified only once, and
 * take no room on the stack of those that call them.
 */
__noinline int add_plain(__u32 kind, __u64 ns)
{
	struct wall_key *key = new_key(kind);

	if (key)
		add_time(current_task(), key, ns);
	return 0;
}

/* The current thread had no CPU for NS: the quota of GROUP was used up; 0: not known whose. */
static __always_inline void add_throttled(__u64 group, __u64 ns)
{
	if (group)
		meanwhile_quota(group, ns);
	else
		add_plain(WALL_THROTTLED, ns);
}

/* The current thread waited from FROM to TO for CPU. */
static __always_inline void add_wait(__u32 cpu, __u64 from, __u64 to)
{
	if (from >= to)
		return;
	/* Waits for lack of quota are told apart: add_throttled(). */
	meanwhile_wait_of(bpf_get_current_task(), cpu, from, to, false);
	if (to - from >= LONG_WAIT)
		meanwhile_waited(to - from);
}

/* The current thread's sleep, before its stay on CPU, is over: NS of it. */
__noinline int add_sleep(__u32 cpu, __u64 ns)
{
	struct task_struct *task = current_task();
	const struct wall_thread *t = inflight_get(task);
	const struct sched_stay *stay = sched_stay(cpu);
	const struct plumb_waker *waker;
	struct wall_key *key;

	if (!t || !stay)
		return 0;
	waker = &stay->waker;
	key = new_key(t->how == WALL_WAS_STOPPED ? WALL_STOPPED : WALL_ASLEEP);
	if (!key)
		return 0;
	key->stack.kernel = t->kernel;
	key->stack.user = t->user;
	key->stack.tgid = t->tgid;
	key->stack.what = t->what;
	key->device = t->device;
	key->peer = t->peer;
	key->other.kind = waker->kind;
	/* On top of which thread an interrupt was, tells nothing, unless that was sending. */
	if (waker->kind == PLUMB_WAKER_THREAD ||
	    (waker->kind == PLUMB_WAKER_SOFTIRQ && waker->call)) {
		key->other.pid = waker->pid;
		key->other.tid = waker->tid;
		key->other.call = waker->call;
		__builtin_memcpy(key->other.comm, waker->comm, sizeof(key->other.comm));
	}
	add_time(task, key, ns);
	return 0;
}
