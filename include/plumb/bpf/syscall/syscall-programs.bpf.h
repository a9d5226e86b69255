/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscall programs: those of the mechanisms raw_tracepoint and tracepoint, for all calls. */
#pragma once

#include <plumb/bpf/syscall/syscall.bpf.h>

/* Defined by the tool, or by syscall-timing.bpf.h: for threads that filter_thread() accepts, */
static __always_inline void syscall_enters(struct task_struct *task, __u32 nr,
					   const struct syscall_arguments *a);
static __always_inline void syscall_leaves(struct task_struct *task, const struct syscall_end *e);
/* and for all, called first: whether this exit is handled already, or not needed. */
static __always_inline bool syscall_is_done(const struct syscall_end *e);

SEC("raw_tp/sys_enter")
int raw_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	struct task_struct *task = current_task();
	struct syscall_arguments a;

	if (filter_thread(task)) {
		a = syscall_arguments(regs);
		syscall_enters(task, ctx->args[1], &a);
	} else {
		filter_remember_rejected(regs);
	}
	return 0;
}

SEC("raw_tp/sys_exit")
int raw_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct syscall_end e = {.regs = (struct pt_regs *)ctx->args[0], .ret = ctx->args[1]};
	struct task_struct *task;

	if (syscall_is_done(&e) || filter_was_rejected(e.regs))
		return 0;
	task = current_task();
	if (filter_thread(task))
		syscall_leaves(task, &e);
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int tp_enter(struct trace_event_raw_sys_enter *ctx)
{
	struct syscall_arguments a = {.fd = ctx->args[0], .size = ctx->args[2]};
	struct task_struct *task = current_task();

	if (filter_thread(task))
		syscall_enters(task, ctx->id, &a);
	return 0;
}

SEC("tp/raw_syscalls/sys_exit")
int tp_exit(struct trace_event_raw_sys_exit *ctx)
{
	struct syscall_end e = {.nr = ctx->id, .ret = ctx->ret};
	struct task_struct *task;

	if (syscall_is_done(&e))
		return 0;
	task = current_task();
	if (filter_thread(task))
		syscall_leaves(task, &e);
	return 0;
}
