/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waker, BPF side: which context wakes another thread, and which thread gets the current one's CPU.
 */
#pragma once

#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/sched/sched-state.bpf.h>
#include <plumb/bpf/sched/turns.bpf.h>
#include <plumb/bpf/stack/stack.bpf.h>
#include <plumb/bpf/sched/waker.h>

/* With stacks of 16 kB, if no helper returns the place of the user's registers (before 5.15). */
#define WAKER_STACK 16384

/* include/linux/preempt.h */
#define PREEMPT_SOFTIRQ 0x00000100 /* one is served, not only disabled */
#define PREEMPT_HARDIRQ 0x00ff0000 /* or an NMI */
/* Where the count is a long (7.x): the count of interrupt disabling was inserted. */
#define PREEMPT_HARDIRQ_LONG 0xff000000

/* pcpu_hot: on x86, from 6.2 to 6.14. */
struct pcpu_hot___count {
	int preempt_count;
} __attribute__((preserve_access_index));

/*
 * The variable of each CPU, whose BTF ID the loader sets.  Of two weak __ksym symbols one would be
 * missing on every kernel, and libbpf would search the BTF of all modules for it, which takes
 * CAP_SYS_ADMIN.
 */
static __always_inline const void *waker_variable(void)
{
	const void *variable;

	asm("%0 = %1 ll" : "=r"(variable) : "i"(PLUMB_PREEMPT_COUNT_UNSET));
	return variable;
}

static __always_inline int waker_preempt_count(void)
{
	struct pcpu_hot___count *hot;
	int *count;

	if (plumb_config.preempt_count == PLUMB_PREEMPT_COUNT_HOT) {
		hot = bpf_this_cpu_ptr(waker_variable());
		return hot->preempt_count;
	}
	count = bpf_this_cpu_ptr(waker_variable());
	return *count;
}

/*
 * If the count cannot be read (a kernel without CONFIG_KALLSYMS_ALL, one whose types have no
 * variables, as Debian's 5.10, or another architecture), a program that runs on the current
 * thread's stack, entered by a system call, is taken for the thread's. Interrupts and softirqs have
 * stacks of their own. A thread that was interrupted in user code is in no system call (on x86).
 * Nor is a thread in a page fault, which is taken for an interrupted one.
 */
static __always_inline enum plumb_waker_kind waker_kind_by_stack(void *ctx,
								 struct task_struct *task)
{
	__u64 stack = (__u64)current_read(task, stack), top = stack + WAKER_STACK;
	bool has_regs = bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);

	if (has_regs)
		top = bpf_task_pt_regs(bpf_get_current_task_btf());
#if defined(__TARGET_ARCH_x86)
	if (has_regs && !(current_read(task, flags) & PF_KTHREAD) &&
	    (__s64)BPF_CORE_READ((struct pt_regs *)top, orig_ax) < 0)
		return PLUMB_WAKER_INTERRUPT;
#endif
	barrier_var(top); /* pointers may be compared; clang would rather subtract */
	if ((__u64)ctx < stack || (__u64)ctx > top)
		return PLUMB_WAKER_EITHER;
	return PLUMB_WAKER_THREAD;
}

/*
 * Softirqs run after an interrupt, and when a thread enables them again, for example after it has
 * sent something over the loopback device. (PREEMPT_RT has threads for most of both.)
 */
static __always_inline enum plumb_waker_kind waker_kind(void *ctx, struct task_struct *task,
							bool by_count)
{
	__u32 count, hardirq;

	if (!current_host_tid(task))
		return PLUMB_WAKER_INTERRUPT;
	if (!by_count)
		return waker_kind_by_stack(ctx, task);
	count = waker_preempt_count();
	hardirq = plumb_config.preempt_count == PLUMB_PREEMPT_COUNT_LONG ? PREEMPT_HARDIRQ_LONG
									 : PREEMPT_HARDIRQ;
	return count & hardirq           ? PLUMB_WAKER_INTERRUPT
	       : count & PREEMPT_SOFTIRQ ? PLUMB_WAKER_SOFTIRQ
					 : PLUMB_WAKER_THREAD;
}

/* BY_COUNT: in a program that is loaded only if the preemption count can be read. */
static __always_inline void waker_current(struct plumb_waker *w, void *ctx,
					  struct task_struct *task, __u32 cpu, bool by_count)
{
	__u32 tgid;

	w->kind = waker_kind(ctx, task, by_count);
	w->pid = current_pid(task);
	w->tid = current_tid(task);
	bpf_get_current_comm(w->comm, sizeof(w->comm));
	w->call = registers_call(task);
	w->kernel = w->user = PLUMB_NO_STACK;
#ifdef SCHED_INTERRUPTS
	waker_interrupt(w);
#endif
	if (plumb_config.wakers < PLUMB_WAKERS_STACKS || w->kind >= PLUMB_WAKER_INTERRUPT)
		return;
	w->kernel = stack_number(ctx, 0, cpu);
	w->user = stack_user(ctx, task, cpu, &tgid);
}

/* The current thread loses its CPU to NEXT. */
static __always_inline void waker_preempter(struct plumb_waker *w, struct task_struct *task,
					    struct task_struct *next)
{
	w->pid = task_pid(next);
	w->tid = task_tid(next);
	w->kind = BPF_CORE_READ(next, pid) ? PLUMB_PREEMPTER : PLUMB_PREEMPTER_IDLE;
	if (sched_is_throttled(task))
		w->kind = PLUMB_THROTTLED;
	w->kernel = w->user = PLUMB_NO_STACK;
	BPF_CORE_READ_INTO(&w->comm, next, comm);
}

/* The current thread, which W took the CPU from, is back; who had that longest, replaces W. */
static __always_inline void waker_had_cpu(struct plumb_waker *w, __u32 cpu, __u64 from, __u64 to)
{
	struct sched_turns *turns = bpf_map_lookup_elem(&plumb_turns, &cpu);
	int at = sched_longest_turn(cpu, from, to);
	struct sched_turn *turn;

	if (!turns || at < 0 || w->kind == PLUMB_THROTTLED)
		return;
	turn = &turns->all[at & (SCHED_TURNS - 1)];
	w->kind = turn->tid ? PLUMB_PREEMPTER : PLUMB_PREEMPTER_IDLE;
	w->pid = turn->pid;
	w->tid = turn->tid;
	__builtin_memcpy(w->comm, turn->comm, sizeof(w->comm));
}
