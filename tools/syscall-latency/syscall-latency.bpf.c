/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/hist.bpf.h>
#include <plumb/lifecycle.bpf.h>
#include <plumb/syscall.bpf.h>
#include "syscall-latency.h"

/* Is all that decides a call's row, and whether it has one, known at its entry? */
static __always_inline bool slot_is_known_at_entry(void)
{
	return !(plumb_config.by & (PLUMB_BY_ERRNO | PLUMB_BY_CPU)) &&
	       !syscall_config.only_errors && !syscall_config.min_ns;
}

static __always_inline void enter(struct task_struct *task, __u64 call, const struct pt_regs *regs)
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
	key_refresh(t, task);
	if (regs && slot_is_known_at_entry())
		seat = seat_take(t, task, regs, cpu);
	if (seat) {
		seat->call = call;
		seat->slot = syscall_slot(t, task, call, 0, cpu);
		seat->start = bpf_ktime_get_ns();
	} else {
		t->call = call;
		t->start = bpf_ktime_get_ns();
	}
}

static __always_inline void leave_seat(struct plumb_seat *seat, long ret)
{
	__u64 ns = bpf_ktime_get_ns() - seat->start;

	seat->start = 0;
	hist_record(seat->slot, bpf_get_smp_processor_id(), ns,
		    syscall_error(seat->call, seat->call >> 32, ret), false);
}

static __always_inline void leave(struct plumb_thread *t, struct task_struct *task, long ret)
{
	__u64 ns = bpf_ktime_get_ns() - t->start;
	__u32 error = syscall_error(t->call, t->call >> 32, ret), cpu = bpf_get_smp_processor_id();

	t->start = 0;
	if ((syscall_config.only_errors && !error) || ns < syscall_config.min_ns)
		ledger_count(cpu, left_out);
	else
		hist_record(syscall_slot(t, task, t->call, error, cpu), cpu, ns, error, false);
}

/*
 * Tracepoints: every call of the machine passes here, those that are not wanted
 * too.
 */

static __always_inline void on_enter(struct task_struct *task, __u32 nr,
				     const struct syscall_arguments *a)
{
	__u32 abi = syscall_abi(task);

	if (syscall_selected(nr, abi) && filter_entry(task) && syscall_arguments_match(a))
		enter(task, syscall_word(nr, abi), a->regs);
}

static __always_inline bool on_exit_of_seated(const struct syscall_end *e)
{
	struct plumb_seat *seat;

	if (!e->regs || !slot_is_known_at_entry())
		return false;
	seat = seat_of_name(e->regs, bpf_get_smp_processor_id());
	if (seat)
		leave_seat(seat, e->ret);
	return seat;
}

static __always_inline void on_exit(struct task_struct *task, const struct syscall_end *e)
{
	struct plumb_thread *t = inflight_get(task);
	struct plumb_seat *seat = t ? seat_of(t, task) : NULL;

	if (seat)
		leave_seat(seat, e->ret);
	else if (t && t->start)
		leave(t, task, e->ret);
	else
		syscall_unmatched(task, e);
}

SYSCALL_PROGRAMS(on_enter, on_exit, on_exit_of_seated)

/*
 * fentry: on the functions of a few system calls, so that no other call of the
 * machine pays anything.  Each call has programs of its own, which can
 * interleave on a CPU; a slot must therefore belong to one call, to which the
 * loader sees.
 */

const volatile __u32 fentry_nrs[SYSCALL_LATENCY_FUNCTIONS] = {};

static __always_inline int function_enter(__u64 *ctx, __u32 nr)
{
	struct pt_regs *regs = (struct pt_regs *)ctx[0];
	struct task_struct *task = current_task();
	struct syscall_arguments a = syscall_arguments(regs);

	if (filter_thread(task) && filter_entry(task) && syscall_arguments_match(&a))
		enter(task, syscall_word(nr, PLUMB_ABI_NATIVE), NULL);
	return 0;
}

/* The end runs only for calls whose entry ran: without a state it was rejected there. */
static __always_inline int function_exit(__u64 *ctx)
{
	struct task_struct *task = current_task();
	struct plumb_thread *t;

	if (!filter_thread(task))
		return 0;
	t = inflight_get(task);
	if (t && t->start)
		leave(t, task, ctx[1]);
	return 0;
}

/* One pair a function; the loader aims those that are needed, no other is loaded. */
#define PAIR(i)                                                                                    \
	SEC("?fentry")                                                                             \
	int enter_##i(__u64 *ctx)                                                                  \
	{                                                                                          \
		return function_enter(ctx, fentry_nrs[i]);                                         \
	}                                                                                          \
	SEC("?fexit")                                                                              \
	int exit_##i(__u64 *ctx)                                                                   \
	{                                                                                          \
		return function_exit(ctx);                                                         \
	}

PAIR(0)
PAIR(1)
PAIR(2)
PAIR(3)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
