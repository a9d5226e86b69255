/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What happens at a call's entry and at its end, whichever hook saw it. */
#ifndef SYSCALL_LATENCY_HANDLERS_BPF_H
#define SYSCALL_LATENCY_HANDLERS_BPF_H

#include <plumb/hist.bpf.h>
#include <plumb/lifecycle.bpf.h>
#include <plumb/syscall.bpf.h>

static __always_inline void enter(const struct plumb_current *now, __u32 nr, __u32 abi)
{
	struct plumb_thread *t;
	__u32 cpu;

	t = inflight_make(now);
	cpu = bpf_get_smp_processor_id();
	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	if (t->start)
		ledger_count(cpu, overwritten);
	key_refresh(t, now);
	t->call = syscall_word(nr, abi);
	ledger_count(cpu, began);
	t->start = bpf_ktime_get_ns();
}

static __always_inline void leave(struct plumb_thread *t, const struct plumb_current *now, __u64 end,
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
	slot = syscall_slot(t, now, call, error, cpu);
	if (!slot)
		ledger_count(cpu, pooled);
	totals = totals_of(slot, cpu);
	if (!totals)
		return;
	totals_add_call(totals, error);
	totals_add_time(totals, ns);
	hist_add(slot, cpu, ns);
}

#endif
