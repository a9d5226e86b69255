/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/bpf/core/cpus.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/stack/stacks.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>
#include "cpu-profile.h"

struct cpu_profile_rest rest = {};

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;

	if (!plumb_live)
		return 0;
	if (!current_host_tid(task)) {
		atomic_add(&rest.idle, 1);
		return 0;
	}
	if (!filter_thread(task) || !filter_entry(task)) {
		atomic_add(&rest.others, 1);
		return 0;
	}
	totals = totals_of(stack_slot(ctx, task, cpu, 0), cpu);
	if (totals)
		totals_add_call(totals, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
