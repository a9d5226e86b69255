/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A wait is a system call that waits for a futex word.  Its thread's state is kept in a hash, by
 * which a wakeup finds the state of the thread that is woken.
 */
#include "futex-latency.h"
#include <plumb/bpf/core/common.bpf.h>

/* The wait that the thread is in. */
struct futex_thread {
	__u64 start; /* ns, CLOCK_MONOTONIC; 0: none */
	__u64 left;  /* the same: when its last wait ended, for WORD */
	struct futex_word_key word;
	__u64 woken; /* ns, CLOCK_MONOTONIC: the last time; 0: it was not */
	__u64 since; /* ns, if WOKEN, of a lock: up to then, see word_released() */
	__u32 kind;
	__u32 among; /* how many threads waited for its word when it began; 0: it is not followed */
	__s32 user;
	__u32 tgid;
	struct plumb_waker waker; /* if WOKEN */
};

#define PLUMB_THREAD struct futex_thread
#define PLUMB_KEY    struct futex_row
#include <plumb/bpf/core/inflight.bpf.h>
#include <plumb/bpf/sched/waker.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include "waits.bpf.h"
#include "words.bpf.h"

PLUMB_MAP(futex_longest, ARRAY, 1 /* set by the loader: slots of each CPU */, __u32,
	  struct futex_longest);

/* Threads that are in a wait that is traced. */
static __u64 futex_inside = 0;

/* The wait of T is over, until NOW (0: it did not wait); see word_leave(). */
static __always_inline __u64 wait_over(struct futex_thread *t, __u64 now)
{
	t->start = 0;
	atomic_add(&futex_inside, -1);
	return t->among ? word_leave(&t->word, now) : 0;
}

static __always_inline __u32 inflight_clear(struct futex_thread *t, struct task_struct *task)
{
	if (!t || !t->start)
		return 0;
	wait_over(t, bpf_ktime_get_ns());
	return 1;
}

#include <plumb/bpf/core/exit.bpf.h>

static __always_inline void wait_begins(void *ctx, __u32 nr)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct futex_wait asked = {};
	struct futex_thread *t;
	struct mm_struct *mm;

	if (!filter_thread(task) || !wait_asked(&asked, task, nr) || !filter_entry(task))
		return;
	t = inflight_make(task);
	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	if (inflight_clear(t, task))
		ledger_count(cpu, exit_lost);
	ledger_count(cpu, began);
	mm = current_read(task, mm);
	t->word.address = asked.address;
	t->word.space = (__u64)mm;
	t->kind = asked.kind;
	t->woken = 0;
	t->tgid = 0;
	if (plumb_config.by & FUTEX_BY_STACK)
		t->user = stack_user(ctx, task, cpu, &t->tgid);
	atomic_add(&futex_inside, 1);
	t->among = word_enter(&t->word, current_pid(task), bpf_ktime_get_ns());
	t->start = bpf_ktime_get_ns();
}

/* Who woke the thread, as a key. */
static __always_inline void tell_waker(struct plumb_waker *to, const struct plumb_waker *waker)
{
	to->kind = waker->kind == PLUMB_WAKER_THREAD ? PLUMB_WAKER_THREAD : PLUMB_WAKER_INTERRUPT;
	to->kernel = to->user = PLUMB_NO_STACK;
	/* A timer's interrupt, or its softirq, is on top of whatever thread. */
	if (to->kind != PLUMB_WAKER_THREAD)
		return;
	if (plumb_config.by & FUTEX_BY_WAKER_STACK)
		to->user = waker->user;
	to->pid = waker->pid;
	if (!(plumb_config.by & FUTEX_BY_WAKER))
		return;
	to->tid = waker->tid;
	__builtin_memcpy(to->comm, waker->comm, sizeof(to->comm));
}

static __always_inline __u32 wait_slot(struct futex_thread *t, struct task_struct *task,
				       __u32 result, __u32 cpu)
{
	struct futex_row key = {};

	if (plumb_config.by & FUTEX_BY_WORD)
		key.word = t->word;
	if (plumb_config.by & FUTEX_BY_KIND)
		key.kind = t->kind;
	if (plumb_config.by & FUTEX_BY_RESULT)
		key.result = result;
	if (plumb_config.by & FUTEX_BY_STACK) {
		key.user = t->user;
		key.tgid = t->tgid;
	}
	if (plumb_config.by & (FUTEX_BY_WAKER | FUTEX_BY_WAKER_STACK) && t->woken)
		tell_waker(&key.waker, &t->waker);
	return key_cpu_slot(task, &key, cpu);
}

static __always_inline void note_most(const struct futex_thread *t, __u32 slot, __u32 cpu, __u64 ns)
{
	__u32 at = cpu * plumb_config.slots + slot;
	struct futex_longest *longest = bpf_map_lookup_elem(&futex_longest, &at);

	if (!longest)
		return;
	if (t->among > longest->most)
		longest->most = t->among;
	if (ns <= longest->ns)
		return;
	longest->ns = ns;
	longest->waker = t->waker;
}

static __noinline int wait_ended(struct futex_thread *t, __u32 result, __u64 now)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id(), slot;
	struct plumb_totals *totals;
	__u64 ns, contended, longest = 0;

	if (!t)
		return 0;
	ns = now - t->start;
	t->left = now;
	contended = wait_over(t, result == FUTEX_CHANGED ? 0 : now);
	if (result == FUTEX_CHANGED && !(plumb_config.by & FUTEX_BY_RESULT)) {
		ledger_count(cpu, filtered_at_exit);
		return 0;
	}
	slot = wait_slot(t, task, result, cpu);
	totals = hist_record(slot, cpu, ns, result != FUTEX_WOKEN, false);
	if (!totals)
		return 0;
	plumb_add(totals->counters[FUTEX_CONTENDED], contended);
	if (result == FUTEX_WOKEN)
		plumb_add(totals->counters[FUTEX_N_WOKEN], 1);
	if (t->woken && (__s64)(now - t->woken) > 0)
		plumb_add(totals->counters[FUTEX_AFTER_WAKEUP], now - t->woken);
	if (t->woken && result == FUTEX_WOKEN)
		longest = futex_is_lock(t->kind) ? t->since : ns;
	note_most(t, slot, cpu, longest);
	return 0;
}

/* The call of a traced thread ends: its wait, or one that began before the trace. */
static __always_inline void wait_ends(__u32 nr, long ret)
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *task = current_task();
	struct futex_wait asked = {};
	struct futex_thread *t;

	if (!filter_thread(task))
		return;
	t = inflight_get(task);
	if (t && t->start)
		wait_ended(t, wait_result(ret), now);
	else if (plumb_live && wait_asked(&asked, task, nr) && filter_entry(task))
		ledger_count(bpf_get_smp_processor_id(), unmatched);
}

/* All system calls of the machine pass here: those of no thread can be one are not looked at. */
static __always_inline bool is_futex(__u32 nr)
{
	return syscall_kind(futex_calls, nr, PLUMB_ABI_NATIVE) ||
	       syscall_kind(futex_calls, nr, PLUMB_ABI_COMPAT);
}

SEC("raw_tp/sys_enter")
int raw_enter(struct bpf_raw_tracepoint_args *ctx)
{
	if (is_futex(ctx->args[1]))
		wait_begins(ctx, ctx->args[1]);
	return 0;
}

SEC("raw_tp/sys_exit")
int raw_exit(struct bpf_raw_tracepoint_args *ctx)
{
	const struct syscall_end e = {.regs = (struct pt_regs *)ctx->args[0]};
	__u32 nr = syscall_end_nr(&e);

	if (is_futex(nr))
		wait_ends(nr, ctx->args[1]);
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int tp_enter(struct trace_event_raw_sys_enter *ctx)
{
	if (is_futex(ctx->id))
		wait_begins(ctx, ctx->id);
	return 0;
}

SEC("tp/raw_syscalls/sys_exit")
int tp_exit(struct trace_event_raw_sys_exit *ctx)
{
	if (is_futex(ctx->id))
		wait_ends(ctx->id, ctx->ret);
	return 0;
}

/*
 * The current thread releases the lock WORD: it did not have it before that time, when its own wait
 * for it ended.  0: its last wait was for another word.  The kernel gives a lock with priority
 * inheritance to a waiter before it wakes that.
 */
static __always_inline __u64 not_held_before(const struct futex_word_key *word, __u32 kind)
{
	const struct futex_thread *t = inflight_get(current_task());

	return kind != FUTEX_PI_LOCK && t && t->word.address == word->address &&
			       t->word.space == word->space
		       ? t->left
		       : 0;
}

/* The current thread, or an interrupt on top of it, wakes another thread. */
static __always_inline int wake(struct bpf_raw_tracepoint_args *ctx, bool by_count)
{
	__u64 key = ctx->args[0];
	struct plumb_thread_kept *kept;
	struct futex_thread *t;
	__u64 now;

	if (!futex_inside)
		return 0;
	kept = bpf_map_lookup_elem(&plumb_threads_by_task, &key);
	if (!kept || !kept->thread.start)
		return 0;
	t = &kept->thread;
	waker_current(&t->waker, ctx, current_task(), bpf_get_smp_processor_id(), by_count);
	now = bpf_ktime_get_ns();
	if (futex_is_lock(t->kind))
		t->since = word_released(&t->word, not_held_before(&t->word, t->kind), now);
	barrier();
	t->woken = now;
	return 0;
}

SEC("raw_tp/sched_waking")
int thread_woken(struct bpf_raw_tracepoint_args *ctx)
{
	return wake(ctx, false);
}

/* Instead, if the preemption count can be read. */
SEC("raw_tp/sched_waking")
int thread_woken_by_count(struct bpf_raw_tracepoint_args *ctx)
{
	return wake(ctx, true);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
