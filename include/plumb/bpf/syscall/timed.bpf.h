/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * timed: system calls, each handed over with its time when it ends.
 *
 * On the tracepoints a call is kept in a seat where it can be: then its end knows it
 * without asking who runs.  fentry is on the functions of a few calls; no other call
 * of the machine pays anything.  Each of those has programs of its own, which can
 * interleave on a CPU: what they write must be one call's, to which the loader sees.
 */
#ifndef PLUMB_TIMED_BPF_H
#define PLUMB_TIMED_BPF_H

#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/core/pairing.bpf.h>
#include <plumb/bpf/sched/split.bpf.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

struct timed_call {
	__u64 call; /* syscall_word() */
	__u64 ns;
	long ret;
	struct pt_regs *regs; /* NULL: not known */
	__u32 slot;           /* as timed_slot() gave it at the entry, if SEATED */
	bool seated;
	bool left;              /* may it have left the CPU? */
	struct plumb_thread *t; /* NULL, if SEATED: not looked up yet */
};

/*
 * A tool with rows defines TIMED_ROWS, and these: can all be known at the entry that
 * decides the slot?  A call begins.  Its slot then.
 */
#ifdef TIMED_ROWS
static __always_inline bool timed_at_entry(void);
static __always_inline void timed_begin(struct plumb_thread *t, struct task_struct *task);
static __always_inline __u32 timed_slot(struct plumb_thread *t, struct task_struct *task,
					__u64 call, __u32 cpu);
#else
#define timed_at_entry() true
#define timed_begin(t, task)
#define timed_slot(t, task, call, cpu) 0
#endif
/* The tool's: a call has ended. */
static __always_inline void timed_end(const struct timed_call *c);

static __always_inline void timed_enter(struct task_struct *task, __u64 call,
					const struct pt_regs *regs)
{
	struct plumb_thread *t = inflight_make(task);
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_seat *seat = NULL;

	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	if (inflight_clear(t, task))
		ledger_count(cpu, overwritten);
	ledger_count(cpu, began);
	timed_begin(t, task);
	if (plumb_config.split)
		split_begin(t);
	if (regs && timed_at_entry())
		seat = seat_take(t, task, regs, cpu);
	if (seat) {
		seat->call = call;
		seat->left = 0;
		seat->slot = timed_slot(t, task, call, cpu);
		seat->start = bpf_ktime_get_ns();
	} else {
		t->call = call;
		t->start = bpf_ktime_get_ns();
	}
}

/* An end that may not belong to the call that began at START. */
static __always_inline bool timed_is_doubtful(__u64 start)
{
	if (!unlikely(plumb_config.preemptible) || !pairing_is_marked(current_task(), start))
		return false;
	ledger_count(bpf_get_smp_processor_id(), unpaired);
	return true;
}

static __always_inline void timed_leave_seat(struct plumb_seat *seat, long ret,
					     struct pt_regs *regs)
{
	struct timed_call c = {
		.ns = bpf_ktime_get_ns() - seat->start,
		.call = seat->call,
		.ret = ret,
		.regs = regs,
		.slot = seat->slot,
		.seated = true,
		.left = seat->left,
	};

	if (!timed_is_doubtful(seat->start))
		timed_end(&c);
	seat->start = 0;
}

static __always_inline void timed_leave(struct plumb_thread *t, long ret, struct pt_regs *regs)
{
	struct timed_call c = {
		.ns = bpf_ktime_get_ns() - t->start,
		.call = t->call,
		.ret = ret,
		.regs = regs,
		.left = true,
		.t = t,
	};

	if (!timed_is_doubtful(t->start))
		timed_end(&c);
	t->start = 0;
}

/*
 * Tracepoints: every call of the machine passes here, those that are not wanted
 * too.
 */

static __always_inline void timed_on_enter(struct task_struct *task, __u32 nr,
					   const struct syscall_arguments *a)
{
	__u32 abi = syscall_abi(task);

	if (syscall_wanted(task, nr, abi) && syscall_arguments_match(a))
		timed_enter(task, syscall_word(nr, abi), a->regs);
}

static __always_inline bool timed_on_exit_of_seated(const struct syscall_end *e)
{
	struct plumb_seat *seat;

	if (!e->regs || !timed_at_entry())
		return false;
	seat = seat_of_name(e->regs, bpf_get_smp_processor_id());
	if (seat)
		timed_leave_seat(seat, e->ret, e->regs);
	return seat;
}

/*
 * Where executions are missed, an end may follow another call's entry.  The number tells, where it
 * comes for free; sigreturn has put its caller's -1 in its place.
 */
static __always_inline bool timed_is_of_another(const struct plumb_thread *t,
						const struct syscall_end *e)
{
	return !e->regs && (__s32)e->nr >= 0 && e->nr != (__u32)t->call;
}

static __always_inline void timed_on_exit(struct task_struct *task, const struct syscall_end *e)
{
	struct plumb_thread *t = inflight_get(task);
	struct plumb_seat *seat = t ? seat_of(t, task) : NULL;

	if (t && t->start && timed_is_of_another(t, e)) {
		t->start = 0;
		ledger_count(bpf_get_smp_processor_id(), overwritten);
	}
	if (seat)
		timed_leave_seat(seat, e->ret, e->regs);
	else if (t && t->start)
		timed_leave(t, e->ret, e->regs);
	else
		syscall_unmatched(task, e);
}

SYSCALL_PROGRAMS(timed_on_enter, timed_on_exit, timed_on_exit_of_seated)

#endif
