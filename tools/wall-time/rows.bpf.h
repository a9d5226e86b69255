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
 * Whether rows are getting scarce, as with hundreds of threads that wake one another: then which
 * thread of a process it was is not in the key of new ones, so that no time is without a row.
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

static __always_inline void add_time(struct task_struct *task, const struct wall_key *key, __u64 ns)
{
	__u32 cpu = bpf_get_smp_processor_id(), slot = key_cpu_slot(task, key, cpu);
	struct plumb_totals *totals = totals_of(slot, cpu);

	if (slot > plumb_config.slots / 4 * 3)
		wall_crowded = 1;
	if (!totals)
		return;
	totals_add_call(totals, 0);
	totals_add_time(totals, ns);
}

/* The current thread could not run for NS, and meanwhile M was so. */
static __always_inline void meanwhile_add(struct plumb_meanwhile *m, __u64 ns)
{
	const bool quota = m->kind == PLUMB_MEANWHILE_QUOTA;
	struct task_struct *task = current_task();
	struct wall_thread *t;
	struct wall_key *key;

	if (m->kind == PLUMB_MEANWHILE_WAITER) {
		t = inflight_get(task);
		if (t)
			t->waiter = *m;
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
		key->other.tid = wall_crowded ? 0 : m->tid;
		key->other.nice = m->nice;
		__builtin_memcpy(key->other.comm, m->comm, sizeof(key->other.comm));
	} else if (m->kind == PLUMB_MEANWHILE_IDLE) {
		key->other.kind = PLUMB_PREEMPTER_IDLE;
	}
	add_time(task, key, ns);
}

/* The current thread waited from FROM to TO for CPU. */
static __always_inline void add_wait(__u32 cpu, __u64 from, __u64 to)
{
	if (from >= to)
		return;
	meanwhile_wait_of(bpf_get_current_task(), cpu, from, to);
	if (to - from >= LONG_WAIT)
		meanwhile_waited(to - from);
}

/* The current thread's sleep is over: NS of it. */
static __always_inline void add_sleep(const struct wall_thread *t, struct task_struct *task,
				      const struct plumb_waker *waker, __u64 ns)
{
	struct wall_key *key = new_key(t->how == WALL_WAS_STOPPED ? WALL_STOPPED : WALL_ASLEEP);

	if (!key)
		return;
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
		key->other.tid = wall_crowded ? 0 : waker->tid;
		key->other.call = waker->call;
		__builtin_memcpy(key->other.comm, waker->comm, sizeof(key->other.comm));
	}
	add_time(task, key, ns);
}

/* NS without a stack. */
static __always_inline void add_plain(struct task_struct *task, enum wall_kind kind, __u64 ns)
{
	struct wall_key *key = new_key(kind);

	if (key)
		add_time(task, key, ns);
}
