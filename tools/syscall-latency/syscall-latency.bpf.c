/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/hist.bpf.h>
#include <plumb/lifecycle.bpf.h>
#include <plumb/syscall.bpf.h>
#include "syscall-latency.h"

static __always_inline void enter(struct task_struct *task, __u32 nr, __u32 abi)
{
	struct plumb_thread *t;
	__u32 cpu;

	t = inflight_make(task);
	cpu = bpf_get_smp_processor_id();
	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	if (t->start)
		ledger_count(cpu, overwritten);
	key_refresh(t, task);
	t->call = syscall_word(nr, abi);
	ledger_count(cpu, began);
	t->start = bpf_ktime_get_ns();
}

static __always_inline void leave(struct plumb_thread *t, struct task_struct *task, __u64 end,
				  long ret)
{
	__u32 error, slot, cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;
	__u64 call = t->call, ns = end - t->start;

	t->start = 0;
	error = syscall_error(call, call >> 32, ret);
	if ((syscall_config.only_errors && !error) || ns < syscall_config.min_ns) {
		ledger_count(cpu, left_out);
		return;
	}
	slot = syscall_slot(t, task, call, error, cpu);
	if (!slot)
		ledger_count(cpu, pooled);
	totals = totals_of(slot, cpu);
	if (!totals)
		return;
	totals_add_call(totals, error);
	totals_add_time(totals, ns);
	hist_add(slot, cpu, ns);
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
		enter(task, nr, abi);
}

static __always_inline void on_exit(struct task_struct *task, const struct syscall_end *e)
{
	struct plumb_thread *t = inflight_get(task);

	if (t && t->start)
		leave(t, task, bpf_ktime_get_ns(), e->ret);
	else
		syscall_unmatched(task, e);
}

#define ALL_ENDS_MATTER(ret) false
SYSCALL_PROGRAMS(on_enter, on_exit, ALL_ENDS_MATTER)

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
		enter(task, nr, PLUMB_ABI_NATIVE);
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
		leave(t, task, bpf_ktime_get_ns(), ctx[1]);
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
