/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lifecycle: the programs that every tool attaches in addition to its own.  A tool that keeps a
 * state of threads includes exit.bpf.h instead, or sched/return.bpf.h.
 */
#ifndef PLUMB_LIFECYCLE_BPF_H
#define PLUMB_LIFECYCLE_BPF_H

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/key/cgroups.bpf.h>

/* These two are loaded only if the descendants of a command are traced. */
SEC("raw_tp/sched_process_fork")
int thread_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = current_task();

	filter_fork(task, (struct task_struct *)ctx->args[1]);
	return 0;
}

SEC("raw_tp/sched_process_free")
int process_free(struct bpf_raw_tracepoint_args *ctx)
{
	filter_free((struct task_struct *)ctx->args[0]);
	return 0;
}

#endif
