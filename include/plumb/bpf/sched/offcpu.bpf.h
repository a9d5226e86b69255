/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offcpu: the programs of tools that trace only how threads leave their CPU.  The tool defines what
 * is done when the current thread leaves its CPU, and, for what is known of it so far, before its
 * parent is notified of its exit, and before it has another name.
 */
#pragma once

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/sched/sched.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>

static __always_inline void offcpu_leaves(struct bpf_raw_tracepoint_args *ctx,
					  struct task_struct *task, __u32 cpu, __u64 now);
static __always_inline void offcpu_ends(struct task_struct *task, __u32 cpu);

SEC("raw_tp/sched_switch")
int on_leave(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now = bpf_ktime_get_ns();

	if (current_host_tid(task))
		offcpu_leaves(ctx, task, cpu, now);
	sched_switched(ctx, task, cpu, now);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int thread_ends(void *ctx __attribute__((unused)))
{
	offcpu_ends(current_task(), bpf_get_smp_processor_id());
	return 0;
}

SEC("raw_tp/task_rename")
int name_changes(struct bpf_raw_tracepoint_args *ctx)
{
	if (ctx->args[0] == bpf_get_current_task())
		offcpu_ends(current_task(), bpf_get_smp_processor_id());
	return 0;
}
