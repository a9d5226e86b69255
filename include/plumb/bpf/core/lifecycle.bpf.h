/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lifecycle: the programs that every tool attaches in addition to its own.  A tool that keeps no
 * state of threads defines PLUMB_STATELESS.
 */
#ifndef PLUMB_LIFECYCLE_BPF_H
#define PLUMB_LIFECYCLE_BPF_H

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/key/cgroups.bpf.h>
#if !defined(PLUMB_STATELESS) &&                                                                   \
	!defined(PLUMB_INFLIGHT_BPF_H) /* else the tool has defined its own state */
#include <plumb/bpf/core/inflight-slots.bpf.h>
#endif

#if !defined(PLUMB_OFFCPU_BPF_H) && !defined(PLUMB_STATELESS) /* offcpu.bpf.h traces exits itself  \
							       */
SEC("raw_tp/sched_process_exit")
int thread_exit(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();
	PLUMB_THREAD *t = inflight_get(task);
	__u32 inside = inflight_clear(t, task);

#ifdef PLUMB_RETURN_BPF_H
	if (t)
		return_end(t);
#endif
	if (inside)
		ledger_add(bpf_get_smp_processor_id(), abandoned, inside);
	inflight_drop(task);
	atomic_add(&plumb_epoch, 1);
	return 0;
}
#endif

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

#ifndef PLUMB_STATELESS
/* Never attached: the loader runs it once to check that thread state works on this kernel. */
SEC("raw_tp")
int state_self_test(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();

	return !!inflight_make(task);
}
#endif

#endif
