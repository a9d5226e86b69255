/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define TARGETS_WITH_CALLER
#include <plumb/bpf/function/trace-targets.bpf.h>
#include <plumb/bpf/stack/stacks.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

/* Count only while all targets are attached, so that all are counted for the same time. */
static __always_inline bool fired(void *ctx, __u64 target, __u64 caller,
				  bool guarded __attribute__((unused)))
{
	struct task_struct *task = current_task();
	struct plumb_totals *totals;
	__u32 cpu, what = 0;

	if (!plumb_live || !filter_thread(task) || !filter_entry(task))
		return false;
	cpu = bpf_get_smp_processor_id();
	if (plumb_config.by & PLUMB_BY_TARGET)
		what = PLUMB_TARGET_INDEX(target);
	totals = totals_of(stack_slot_from(ctx, task, cpu, what, caller), cpu);
	if (totals)
		plumb_add(totals->count, 1);
	return true;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
