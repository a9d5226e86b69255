/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * irq-time: how long interrupts and softirqs have had this CPU.  The thread that they interrupt is
 * the current one; its time on the CPU contains them.
 *
 * A softirq that runs in a call of a thread, as it enables softirqs again, is counted as well: the
 * kernel does the same in /proc/stat.  The way to an interrupt's handler and back is not: some 0.2
 * us, and what a hypervisor adds.
 *
 * A tool that includes this before sched.bpf.h tells a wakeup by a softirq from one by an interrupt
 * also where the preemption count cannot be read.
 *
 * Each beginning is followed by its end, on the same CPU; one whose program the kernel did not run
 * is forgotten at the next beginning of its kind.
 */
#pragma once

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>
#include <plumb/bpf/sched/irq-hooks.bpf.h>
#include <plumb/bpf/sched/waker.h>

#define SCHED_INTERRUPTS

struct irq_time {
	__u64 hard, softirq; /* when the current one began, ns, CLOCK_MONOTONIC; 0: there is none */
	__u64 nested;        /* ns of hard interrupts in this softirq */
	__u64 ns, taken;     /* the tool's */
};

PLUMB_MAP(plumb_irq_times, PERCPU_ARRAY, 1, __u32, struct irq_time);

/* Defined by the tool: one of T, this CPU's, has ended, which took the current thread's CPU for NS.
 */
static __always_inline void irq_time_ended(struct irq_time *t, __u64 ns);

static __always_inline struct irq_time *irq_time(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&plumb_irq_times, &zero);
}

static __always_inline void waker_interrupt(struct plumb_waker *w)
{
	const struct irq_time *t = irq_time();

	if (t && w->kind == PLUMB_WAKER_EITHER && (t->hard || t->softirq))
		w->kind = t->hard ? PLUMB_WAKER_INTERRUPT : PLUMB_WAKER_SOFTIRQ;
}

/*
 * Of an idle CPU no thread is interrupted.  Of one that is not traced it matters only for those
 * that it wakes.
 */
static __always_inline struct irq_time *irq_time_of_thread(void)
{
	struct task_struct *task = current_task();

	if (!plumb_live || !current_host_tid(task) ||
	    (!plumb_config.wakers && !filter_thread(task)))
		return NULL;
	return irq_time();
}

static __always_inline int irq_enters(__u32 what)
{
	struct irq_time *t = irq_time_of_thread();

	if (t)
		t->hard = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int irq_leaves(__u32 what)
{
	struct irq_time *t = irq_time();
	__u64 ns;

	if (!t || !t->hard)
		return 0;
	ns = bpf_ktime_get_ns() - t->hard;
	t->hard = 0;
	if (t->softirq)
		t->nested += ns;
	irq_time_ended(t, ns);
	return 0;
}

static __always_inline int softirq_enters(__u32 what)
{
	struct irq_time *t = irq_time_of_thread();

	if (!t || softirqs_are_threads())
		return 0;
	t->nested = 0;
	t->softirq = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int softirq_leaves(__u32 what)
{
	struct irq_time *t = irq_time();
	__u64 now, nested, ns;

	if (!t || !t->softirq)
		return 0;
	now = irq_clock(&t->nested, &nested);
	ns = now - t->softirq - nested;
	t->softirq = 0;
	irq_time_ended(t, ns);
	return 0;
}
