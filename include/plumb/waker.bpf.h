/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waker, BPF face: the current thread, or an interrupt on top of it, wakes another; one takes another's CPU. */
#ifndef PLUMB_WAKER_BPF_H
#define PLUMB_WAKER_BPF_H

#include <plumb/stack.bpf.h>
#include <plumb/waker.h>

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* With stacks of 16 kB: where no helper says where the user's registers are (before 5.15). */
#define WAKER_STACK 16384

/*
 * Does the program whose context this is run in an interrupt, or in a softirq behind one?
 * These have stacks of their own.  On x86 an interrupt of the user's own code has not: there
 * the thread has not come to the kernel by a system call.  Nor has it in a fault of its own,
 * which is taken for an interrupt.
 */
static __always_inline bool waker_is_interrupt(void *ctx, struct task_struct *task)
{
	__u64 stack = (__u64)current_read(task, stack), top = stack + WAKER_STACK;
	bool has_regs = bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);

	if (!current_tid(task))
		return true;
	if (has_regs)
		top = bpf_task_pt_regs(bpf_get_current_task_btf());
	/* Pointers may be compared; clang would rather subtract. */
	if ((__u64)ctx < stack)
		return true;
	barrier_var(top);
	if ((__u64)ctx > top)
		return true;
#if defined(__TARGET_ARCH_x86)
	if (has_regs && !(current_read(task, flags) & PF_KTHREAD))
		return (__s64)BPF_CORE_READ((struct pt_regs *)top, orig_ax) < 0;
#endif
	return false;
}

static __always_inline void waker_current(struct plumb_waker *w, void *ctx,
					  struct task_struct *task, __u32 cpu)
{
	__u32 tgid;

	w->kind = waker_is_interrupt(ctx, task) ? PLUMB_WAKER_INTERRUPT : PLUMB_WAKER_THREAD;
	w->pid = current_pid(task);
	w->tid = current_tid(task);
	bpf_get_current_comm(w->comm, sizeof(w->comm));
	w->kernel = w->user = PLUMB_NO_STACK;
	if (plumb_config.wakers < PLUMB_WAKERS_STACKS || w->kind == PLUMB_WAKER_INTERRUPT)
		return;
	w->kernel = stack_number(ctx, 0, cpu);
	w->user = stack_user(ctx, task, cpu, &tgid);
}

/* The thread that takes the current one's CPU. */
static __always_inline void waker_preempter(struct plumb_waker *w, struct task_struct *next)
{
	w->pid = BPF_CORE_READ(next, tgid);
	w->tid = BPF_CORE_READ(next, pid);
	w->kind = w->tid ? PLUMB_PREEMPTER : PLUMB_PREEMPTER_IDLE;
	w->kernel = w->user = PLUMB_NO_STACK;
	BPF_CORE_READ_INTO(&w->comm, next, comm);
}

#endif
