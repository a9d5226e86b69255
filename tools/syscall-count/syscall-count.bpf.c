/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/bpf/syscall/syscall-key.bpf.h>
#include <plumb/bpf/syscall/syscall-programs.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

/*
 * A call is counted at its entry, since some never return, and its error at its exit.  Only if
 * errno is a key, calls are counted at their exit.
 */
static __always_inline bool at_end(void)
{
	return plumb_config.by & PLUMB_BY_ERRNO;
}

static __always_inline void count_call(struct call_thread *t, struct task_struct *task, __u64 call,
				       __u32 error)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 slot = syscall_slot(t, task, call, error, cpu);
	struct plumb_totals *totals = totals_of(slot, cpu);

	if (totals)
		totals_add_call(totals, error);
}

static __always_inline void enter(struct task_struct *task, __u64 call)
{
	struct call_thread *t = inflight_make(task);
	__u32 cpu = bpf_get_smp_processor_id();

	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	key_refresh(t, task);
	if (plumb_config.by & PLUMB_BY_FD)
		fd_find(t, call);
	if (at_end()) {
		if (t->start)
			ledger_count(cpu, exit_lost);
		ledger_count(cpu, began);
		t->call = call;
		t->start = 1;
		return;
	}
	t->call = call + 1; /* for count_error(); 0 is none */
	count_call(t, task, call, 0);
}

/* Count a call at its exit. */
static __always_inline void leave(struct call_thread *t, struct task_struct *task, long ret)
{
	t->start = 0;
	count_call(t, task, t->call, syscall_error(t->call, t->call >> 32, ret));
}

/*
 * Count the error of a call that was counted at its entry: the last one that this thread began.
 * Other calls also end during the trace: those that began before it, and those that seccomp refuses
 * before the entry hook.  At the exit the registers still have the call's number, except that of
 * rt_sigreturn, which has no errors.
 */
static __always_inline void count_error(struct task_struct *task, const struct syscall_end *e)
{
	__u32 nr = syscall_end_nr(e), abi = syscall_abi(task), cpu = bpf_get_smp_processor_id();
	struct call_thread *t = inflight_get(task);
	struct plumb_totals *totals;

	if (!t || t->call != syscall_word(nr, abi) + 1 || !syscall_error(nr, abi, e->ret))
		return;
	t->call = 0;
	totals = totals_of(syscall_slot(t, task, syscall_word(nr, abi), 0, cpu), cpu);
	if (totals)
		plumb_add(totals->errors, 1);
}

static __always_inline void syscall_enters(struct task_struct *task, __u32 nr,
					   const struct syscall_arguments *a)
{
	__u32 abi = syscall_abi(task);

	if (syscall_wanted(task, nr, abi, a->regs))
		enter(task, syscall_word(nr, abi));
}

static __always_inline void syscall_leaves(struct task_struct *task, const struct syscall_end *e)
{
	struct call_thread *t;

	if (!at_end()) {
		count_error(task, e);
		return;
	}
	t = inflight_get(task);
	if (t && t->start)
		leave(t, task, e->ret);
	else
		syscall_unmatched(task, e);
}

/* Most calls succeed: unless errno is a key, their exits need no work. */
static __always_inline bool syscall_is_done(const struct syscall_end *e)
{
	return !at_end() && (e->ret >= 0 || e->ret < -4095);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
