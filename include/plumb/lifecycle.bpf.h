/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lifecycle: the programs that every tool attaches besides its own. */
#ifndef PLUMB_LIFECYCLE_BPF_H
#define PLUMB_LIFECYCLE_BPF_H

#include <plumb/filter.bpf.h>
#include <plumb/inflight.bpf.h>

SEC("raw_tp/sched_process_exit")
int thread_exit(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();
	struct plumb_thread *t = inflight_get(task);

	if (t && inflight_clear(t, task))
		ledger_count(bpf_get_smp_processor_id(), abandoned);
	inflight_drop(task);
	__sync_fetch_and_add(&plumb_deaths, 1);
	filter_exit(task);
	return 0;
}

/* Loaded only where a command's descendants are followed. */
SEC("raw_tp/sched_process_fork")
int thread_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();

	filter_fork(task, (struct task_struct *)ctx->args[1]);
	return 0;
}

/* Never attached: the loader runs it once, to see whether a thread's state can be had here. */
SEC("raw_tp")
int state_trial(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();

	return !!inflight_make(task);
}

#endif
