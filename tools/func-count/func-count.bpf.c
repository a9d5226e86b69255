/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "func-count.h"

#include <plumb/bpf/function/trace-targets.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

#define PLUMB_KEY struct func_count_key
#include <plumb/bpf/key/key-cpu.bpf.h>

static __always_inline __u32 count_slot(struct task_struct *task, __u32 target, __u32 cpu)
{
	struct func_count_key key = {};

	if (plumb_config.by == PLUMB_BY_TARGET)
		return target < plumb_config.slots - 1 ? target + 1 : 0;
	if (plumb_config.by & PLUMB_BY_TARGET)
		key.target = target;
	return key_cpu_slot(task, &key, cpu);
}

/* Count only while all targets are attached, so that all are counted for the same time. */
static __always_inline bool fired(void *ctx __attribute__((unused)), __u64 target,
				  bool user __attribute__((unused)), bool guarded)
{
	struct task_struct *task = current_task();
	struct plumb_totals *totals;
	__u32 cpu, slot;

	if (!plumb_live || !filter_thread(task) || !filter_entry(task))
		return false;
	cpu = bpf_get_smp_processor_id();
	slot = count_slot(task, PLUMB_TARGET_INDEX(target), cpu);
	totals = totals_of(slot, cpu);
	if (totals && guarded)
		plumb_add(totals->count, 1);
	else if (totals)
		atomic_add(&totals->count, 1);
	return true;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
