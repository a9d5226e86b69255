/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * syscall tail: slow system calls, without a program at the entry and the exit of any.
 *
 * A thread is seen when it leaves its CPU, when it gets one, and by a clock that ticks on each CPU
 * while it has one.  Its registers say which call it is in, and user-mode.bpf.h whether that is the
 * same one as before.  So a call's time is known from the first to the last time that its thread
 * was seen in it, at least; and at most from the last time before to the first time after that
 * the thread was seen outside of it, or in another one.  What it did not run is seen from its
 * beginning to its end.
 *
 * A call ends with its return to user mode: it includes what its thread waits for on the way out.
 * Of a call that began before the thread was first seen outside of it, there is no beginning: it is
 * none.
 */
#pragma once

#include <plumb/bpf/core/cpus.bpf.h>
#include <plumb/bpf/core/inflight-slots.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/sched/split.bpf.h>
#include <plumb/bpf/sched/user-mode.bpf.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

#define PF_EXITING 0x00000004 /* include/linux/sched.h */

/* Calls that took less than what is asked for at least, and as much or more at most. */
__u64 tail_undecided = 0;

/* user_mode_mark() of the thread that has the CPU, when it got it. */
PLUMB_MAP(tail_marks, PERCPU_ARRAY, 1, __u32, __u32);

/* Defined by the tool: the current thread is in call t->call; it was, for NS at least. */
static __always_inline void tail_begins(struct call_thread *t, struct task_struct *task,
					struct pt_regs *regs);
static __always_inline void tail_ends(struct call_thread *t, struct task_struct *task, __u32 cpu,
				      __u64 ns, __u64 at_most);

/*
 * Whether the current thread, with the registers of a system call, is in it: a new one leaves the
 * fork that its parent called, and the frame of a signal handler is no call's.
 */
static __always_inline bool tail_is_call(const struct pt_regs *regs, __u32 nr, __u32 abi)
{
	long result;

	if (return_has_none(regs, &result))
		return true;
	if (!result && syscall_is_one_of(nr, syscall_config.forks[abi & 1], 4))
		return false;
	return !return_to_handler(regs, result);
}

static __always_inline void tail_begin(struct call_thread *t, struct task_struct *task,
				       struct pt_regs *regs, __u64 now)
{
	__u32 abi = syscall_abi(task), nr = return_number(regs);
	struct syscall_arguments a;

	if (!syscall_selected(nr, abi) || !tail_is_call(regs, nr, abi))
		return;
	a = syscall_arguments(regs);
	if (!syscall_arguments_match(&a))
		return;
	ledger_count(bpf_get_smp_processor_id(), began);
	t->start = now;
	t->call = syscall_word(nr, abi);
	split_begin(t);
	tail_begins(t, task, regs);
}

static __always_inline void tail_end(struct call_thread *t, struct task_struct *task, __u32 cpu,
				     __u64 now)
{
	__u64 ns = t->tail.seen - t->start, at_most = now - t->tail.outside;

	t->start = 0;
	if (ns < syscall_config.min_ns) {
		if (at_most >= syscall_config.min_ns)
			atomic_add(&tail_undecided, 1);
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	tail_ends(t, task, cpu, ns, at_most);
}

/* Nothing is known of the current thread any more, but that it was in its call once. */
static __always_inline void tail_lose(struct call_thread *t, __u32 cpu)
{
	if (t->start)
		ledger_count(cpu, unpaired);
	t->start = 0;
	t->tail.outside = t->tail.left = 0;
	split_forget(t);
}

/*
 * user_mode_mark() since which the current thread's own switches are known, or which is its own; 0:
 * there is none.  The kernel skips programs while another tracer attaches, and hides some threads'
 * switches.
 */
static __always_inline const __u32 *tail_mark(const struct plumb_tail *s,
					      const struct sched_stay *stay,
					      struct task_struct *task, const __u32 *got)
{
	if (s->seen && user_mode_is_of_thread())
		return &s->mark;
	if (!sched_is_of(stay, task))
		return NULL;
	if (s->seen && !s->left)
		return s->seen >= stay->began ? &s->mark : NULL;
	return stay->began >= s->seen ? got : NULL;
}

/* Whether the current thread is in a system call.  A worker of io_uring has no registers. */
static __always_inline bool tail_is_inside(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return return_number(regs) >= 0 && (return_register(regs, cs) & 3) == 3;
#else
	return return_number(regs) >= 0 && !(return_register(regs, pstate) & 0xf);
#endif
}

/* The current thread is seen.  EXITS: it is in no call that returns. */
static __noinline int tail_look(struct call_thread *t, __u32 mark, bool exits)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	__u64 now = bpf_ktime_get_ns();
	const struct sched_stay *stay = sched_stay(cpu);
	const __u32 *got = bpf_map_lookup_elem(&tail_marks, &zero), *before;
	struct pt_regs *regs;
	bool inside, same;

	if (!t || !stay || !got) /* for the verifier */
		return 0;
	regs = return_registers(task);
	inside = same = tail_is_inside(regs);
	before = tail_mark(&t->tail, stay, task, got);
	if (!before) {
		tail_lose(t, cpu);
	} else {
		same = inside && *before == mark;
		/* Since it was woken at least, if it was not seen to get its CPU. */
		stay = sched_own_stay(task, cpu);
		if (stay && (t->tail.left || !t->tail.seen) && stay->began > t->tail.seen)
			t->tail.seen = stay->began;
		split_back(t, task, cpu);
	}
	if (!same) {
		if (t->start)
			tail_end(t, task, cpu, now);
		t->tail.outside = inside ? t->tail.seen : now;
	}
	if (inside && !t->start && t->tail.outside && !exits)
		tail_begin(t, task, regs, now);
	t->tail.seen = now;
	t->tail.mark = mark;
	t->tail.left = 0;
	return 0;
}

/* The state of the current thread, if that is traced. */
static __always_inline struct call_thread *tail_thread(struct task_struct *task)
{
	struct call_thread *t;

	if (current_read(task, flags) & (PF_KTHREAD | PF_EXITING) || !filter_thread(task))
		return NULL;
	if (filter_entry(task))
		return inflight_make(task); /* room or not: it will be seen again */
	/* Meanwhile it is not seen. */
	t = filter_may_have_lost() ? inflight_get(task) : NULL;
	if (t && t->tail.seen) {
		tail_lose(t, bpf_get_smp_processor_id());
		t->tail.seen = 0;
	}
	return NULL;
}

/* The thread's next call, on its way to the next switch, may be one that never ends: exit. */
SEC("raw_tp/sched_process_exit")
int thread_exit(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();
	struct call_thread *t = inflight_get(task);

	if (t && t->tail.seen)
		tail_look(t, user_mode_mark(task), true);
	inflight_end(task, inflight_clear(t, task));
	return 0;
}

SEC("raw_tp/sched_switch")
int tail_leaves(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task(), *next = (struct task_struct *)ctx->args[2];
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct call_thread *t = tail_thread(task);
	__u32 *mark;

	if (t) {
		tail_look(t, user_mode_mark(task), false);
		t->tail.left = 1;
		if (t->start)
			split_left(ctx, t, task, cpu, t->tail.seen);
	}
	mark = bpf_map_lookup_elem(&tail_marks, &zero);
	if (mark)
		*mark = user_mode_mark(next);
	sched_switched(ctx, task, cpu, bpf_ktime_get_ns());
	return 0;
}

SEC("perf_event")
int tail_ticks(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();
	struct call_thread *t = tail_thread(task);

	if (t)
		tail_look(t, user_mode_mark(task), false);
	return 0;
}
