/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wait is from contention_begin(lock, flags) to contention_end(lock, result).  A thread that
 * waits for a mutex spins, then sleeps, and may spin again.  Each of these begins, and one wait
 * ends.
 */
#include "waits.bpf.h"

#define PLUMB_KEY struct lock_key
#include <plumb/bpf/key/key-cpu.bpf.h>

#include "caller.bpf.h"
#include "held-by.bpf.h"
#include "lock-name.bpf.h"

/* include/trace/events/lock.h */
#define LCB_F_SPIN   1
#define LCB_F_READ   2
#define LCB_F_WRITE  4
#define LCB_F_RT     8
#define LCB_F_PERCPU 16
#define LCB_F_MUTEX  32

static __always_inline __u32 kind_of(__u32 flags)
{
	const __u32 access = flags & LCB_F_READ ? 1 : flags & LCB_F_WRITE ? 2 : 0;

	if (flags & LCB_F_PERCPU)
		return access == 1 ? LOCK_PERCPU_READ : LOCK_PERCPU_WRITE;
	if (flags & LCB_F_RT)
		return LOCK_RTMUTEX + access;
	if (flags & LCB_F_MUTEX)
		return LOCK_MUTEX;
	if (flags & LCB_F_SPIN)
		return LOCK_SPINLOCK + access;
	return access ? LOCK_RWSEM_READ + access - 1 : LOCK_SEMAPHORE;
}

static __always_inline bool spins(__u32 kind)
{
	return kind >= LOCK_SPINLOCK && kind <= LOCK_RWLOCK_WRITE;
}

static __noinline int wait_fill(void *ctx, struct lock_wait *w, struct task_struct *task,
				__u64 lock, __u32 kind)
{
	if (!w) /* for the verifier */
		return 0;
	__builtin_memset(w, 0, sizeof(*w));
	w->id.lock = lock;
	w->id.kind = kind;
	w->task = (__u64)task;
	if (plumb_config.by & LOCK_BY_LOCK)
		lock_name(&w->id, task);
	if (plumb_config.by & LOCK_BY_CALLER)
		w->id.caller = caller_walk(ctx, !spins(kind));
	else if (plumb_config.by & LOCK_BY_LOCK && w->id.member == LOCK_NOWHERE)
		w->id.caller = caller_of(ctx, lock, !spins(kind));
	place_wait(ctx, w, task);
	return 0;
}

static __always_inline int spin_begins(void *ctx, struct task_struct *task, __u64 lock, __u32 kind,
				       __u32 cpu, __u64 now)
{
	struct lock_cpu *c = waits_of_cpu();
	struct lock_wait *w;
	__u64 depth;

	if (!c)
		return 0;
	/* A wait of a thread that has left the CPU, or of all contexts, has ended unseen. */
	depth = c->depth;
	if (depth && (depth >= LOCK_CPU_WAITS || c->waits[0].task != (__u64)task)) {
		ledger_add(cpu, exit_lost, depth);
		depth = 0;
	}
	w = wait_at(c->waits, depth, LOCK_CPU_WAITS);
	wait_fill(ctx, w, task, lock, kind);
	w->start = now;
	c->depth = depth + 1;
	ledger_count(cpu, began);
	return 0;
}

static __always_inline int sleep_begins(void *ctx, struct task_struct *task, __u64 lock, __u32 kind,
					__u32 cpu, __u64 now)
{
	struct lock_thread *t = inflight_make(task);
	struct lock_wait *w;

	if (!t) {
		ledger_count(cpu, no_state);
		return 0;
	}
	w = wait_at(t->waits, t->depth - 1, LOCK_THREAD_WAITS);
	if (t->depth && w->id.lock == lock) {
		held_by(w, false, now);
		return 0;
	}
	if (t->depth >= LOCK_THREAD_WAITS) {
		ledger_count(cpu, too_deep);
		return 0;
	}
	w = wait_at(t->waits, t->depth, LOCK_THREAD_WAITS);
	wait_fill(ctx, w, task, lock, kind);
	w->start = now;
	held_by(w, true, now);
	waiter_changes((__u64)task, 1);
	t->depth++;
	ledger_count(cpu, began);
	return 0;
}

static __always_inline int wait_begins(void *ctx, __u64 lock, __u32 flags)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id(), kind = kind_of(flags);
	__u64 now = bpf_ktime_get_ns();

	if (!filter_thread(task) || !filter_entry(task))
		return 0;
	return spins(kind) ? spin_begins(ctx, task, lock, kind, cpu, now)
			   : sleep_begins(ctx, task, lock, kind, cpu, now);
}

/* The lock as it is printed: all that have the same name are one row. */
static __always_inline void key_lock(struct lock_id *to, const struct lock_id *id)
{
	*to = *id;
	if (id->member == LOCK_NOWHERE)
		return;
	to->lock = 0;
	if (id->member != LOCK_MMAP && id->name[0])
		to->number = 0;
}

/* The parts of the key by which rows are grouped. */
static __noinline int key_fill(struct lock_key *key, const struct lock_wait *w)
{
	if (!key || !w) /* for the verifier */
		return 0;
	if (plumb_config.by & LOCK_BY_LOCK)
		key_lock(&key->id, &w->id);
	else if (plumb_config.by & LOCK_BY_CALLER)
		key->id.caller = w->id.caller;
	key->id.kind = plumb_config.by & LOCK_BY_KIND ? w->id.kind : 0;
	place_key(key, w);
	return 0;
}

/* That of the wait that ends: it has no room on the stack. */
PLUMB_MAP(lock_keys, PERCPU_ARRAY, 1, __u32, struct lock_key);

static __noinline int record(struct lock_wait *w, struct task_struct *task, bool failed)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now = bpf_ktime_get_ns(), off[LOCK_PARTS] = {}, ns;
	__u32 zero = 0, slot;
	struct lock_key *key = bpf_map_lookup_elem(&lock_keys, &zero);

	if (!w || !key) /* for the verifier */
		return 0;
	ns = now - w->start;
	held_lock_ends(w, failed, now, ns, off);
	__builtin_memset(key, 0, sizeof(*key));
	key_fill(key, w);
	slot = key_cpu_slot(task, key, cpu);
	place_record(w, off, slot, ns, failed);
	return 0;
}

static __always_inline int wait_ends(__u64 lock, __u32 result)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id(), n;
	struct lock_cpu *c = waits_of_cpu();
	struct lock_thread *t;

	if (!c || !filter_thread(task))
		return 0;
	n = wait_find(c->waits, c->depth, LOCK_CPU_WAITS, lock);
	if (n && c->waits[0].task == (__u64)task) {
		record(wait_at(c->waits, n - 1, LOCK_CPU_WAITS), task, result);
		ledger_add(cpu, exit_lost_nested, c->depth - n);
		c->depth = n - 1;
		return 0;
	}
	t = inflight_get(task);
	n = t ? wait_find(t->waits, t->depth, LOCK_THREAD_WAITS, lock) : 0;
	if (!n) {
		if (plumb_live && filter_entry(task))
			ledger_count(cpu, unmatched);
		return 0;
	}
	record(wait_at(t->waits, n - 1, LOCK_THREAD_WAITS), task, result);
	ledger_add(cpu, exit_lost_nested, t->depth - n);
	if (t->depth > n)
		held_lock_forget(wait_at(t->waits, n, LOCK_THREAD_WAITS));
	waiter_changes((__u64)task, n - 1 - t->depth);
	t->depth = n - 1;
	if (!t->depth)
		inflight_drop(task);
	return 0;
}

SEC("raw_tp/contention_begin")
int raw_wait_begins(struct bpf_raw_tracepoint_args *ctx)
{
	return wait_begins(ctx, ctx->args[0], ctx->args[1]);
}

SEC("raw_tp/contention_end")
int raw_wait_ends(struct bpf_raw_tracepoint_args *ctx)
{
	return wait_ends(ctx->args[0], ctx->args[1]);
}

SEC("tp/lock/contention_begin")
int tp_wait_begins(struct trace_event_raw_contention_begin *ctx)
{
	return wait_begins(ctx, (__u64)ctx->lock_addr, ctx->flags);
}

SEC("tp/lock/contention_end")
int tp_wait_ends(struct trace_event_raw_contention_end *ctx)
{
	return wait_ends((__u64)ctx->lock_addr, ctx->ret);
}

SEC("raw_tp/sched_switch")
int owner_switches(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	bool waits = waiter_may_be((__u64)task), runnable;
	__u64 now;

	runnable = ctx->args[0] || sched_state(task) == TASK_RUNNING;
	if (owner_has_places() && !runnable)
		owner_place_is((__u64)task, place_sleep(ctx));
	if (!waits && !owner_mark((__u64)task) && !owner_mark(ctx->args[2]))
		return 0;
	now = bpf_ktime_get_ns();
	if (waits)
		waiter_leaves((__u64)task, now);
	else
		owner_may_have_released((__u64)task, now);
	owner_leaves(task, runnable, now);
	owner_comes(ctx->args[2], now);
	return 0;
}

SEC("raw_tp/sched_waking")
int owner_or_waiter_wakes(struct bpf_raw_tracepoint_args *ctx)
{
	const __u64 task = ctx->args[0];
	__u64 now;

	if (!waiter_may_be(task) && !owner_mark(task))
		return 0;
	now = bpf_ktime_get_ns();
	/* A waiter may be an owner by that, which has not slept: the times are the same. */
	if (waiter_may_be(task))
		released_by(ctx, task, current_task(), now);
	owner_wakes(task, now);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
