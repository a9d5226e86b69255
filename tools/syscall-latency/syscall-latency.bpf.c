/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/syscall.h>
#define PLUMB_KEY struct syscall_key
#include <plumb/filter.bpf.h>
#include <plumb/hist.bpf.h>
#include <plumb/inflight.bpf.h>
#include <plumb/key.bpf.h>
#include <plumb/ledger.bpf.h>
#include <plumb/syscall.bpf.h>

static __always_inline void enter(__u32 nr, __u32 abi)
{
	struct plumb_thread *t;
	__u32 cpu;

	t = inflight_make();
	cpu = bpf_get_smp_processor_id();
	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	if (t->start)
		ledger_count(cpu, overwritten);
	key_refresh(t);
	t->call = syscall_word(nr, abi);
	ledger_count(cpu, began);
	t->start = bpf_ktime_get_ns();
}

/* An end whose entry was not seen.  Is it one that should have been? */
static __always_inline void unmatched(struct pt_regs *regs, long ret)
{
	__u32 nr, abi;

	if (!plumb_live || !filter_entry())
		return;
	nr = syscall_ending_nr(regs);
	abi = syscall_abi();
	if (!syscall_selected(nr, abi) || syscall_is_birth(nr, abi, ret) ||
	    !syscall_arguments_match(regs))
		return;
	ledger_count(bpf_get_smp_processor_id(), unmatched);
}

static __always_inline void leave(struct plumb_thread *t, __u64 now, long ret)
{
	__u32 error, slot, cpu = bpf_get_smp_processor_id();
	struct plumb_cached_slot *cached;
	struct plumb_totals *totals;
	__u64 call = t->call, ns = now - t->start, var;

	t->start = 0;
	ledger_count(cpu, ended);
	error = syscall_error(call, call >> 32, ret);
	if ((syscall_config.only_errors && !error) || ns < syscall_config.min_ns) {
		ledger_count(cpu, left_out);
		return;
	}
	var = syscall_var(call, error, cpu);
	cached = key_cached(t, var);
	if (cached->valid && cached->var == var) {
		slot = cached->slot;
	} else {
		struct syscall_key key = {};

		key_who(&key.who, t, cpu);
		if (plumb_config.by & PLUMB_BY_SYSCALL) {
			key.nr = call;
			key.abi = call >> 32;
		}
		if (plumb_config.by & PLUMB_BY_ERRNO)
			key.error = error;
		slot = key_slot(cached, var, &key);
	}
	if (!slot)
		ledger_count(cpu, pooled);
	totals = totals_of(slot, cpu);
	if (!totals)
		return;
	totals_add_time(totals, ns);
	if (error)
		totals->errors++;
	hist_add(slot, cpu, ns);
}

SEC("raw_tp/sys_enter")
int sys_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	__u32 nr = ctx->args[1], abi;

	if (!filter_thread())
		return 0;
	abi = syscall_abi();
	if (!syscall_selected(nr, abi) || !filter_entry() || !syscall_arguments_match(regs))
		return 0;
	enter(nr, abi);
	return 0;
}

SEC("raw_tp/sys_exit")
int sys_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct plumb_thread *t;

	if (!filter_thread())
		return 0;
	t = inflight_get();
	if (t && t->start)
		leave(t, bpf_ktime_get_ns(), ctx->args[1]);
	else
		unmatched((struct pt_regs *)ctx->args[0], ctx->args[1]);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int thread_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct plumb_thread *t = inflight_get();

	if (t && t->start) {
		t->start = 0;
		ledger_count(bpf_get_smp_processor_id(), abandoned);
	}
	inflight_drop();
	filter_exit((struct task_struct *)ctx->args[0]);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int thread_fork(struct bpf_raw_tracepoint_args *ctx)
{
	filter_fork((struct task_struct *)ctx->args[1]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
