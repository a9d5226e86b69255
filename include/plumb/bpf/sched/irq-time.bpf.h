/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * irq-time: how long interrupts and softirqs have had this CPU.  The thread that they interrupt is
 * the current one; its time on the CPU contains them.
 *
 * A softirq that runs in a call of a thread, as it enables softirqs again, is counted as well: the
 * kernel does the same in /proc/stat.  The way to an interrupt's handler and back is not: some 0.2
 * us, and what a hypervisor adds.  On PREEMPT_RT softirqs run in threads, and are time of these.
 *
 * A tool that includes this before sched.bpf.h tells a wakeup by a softirq from one by an interrupt
 * also where the preemption count cannot be read.
 *
 * Each beginning is followed by its end, on the same CPU; one whose program the kernel did not run
 * is forgotten at the next beginning of its kind.  Hard interrupts do not interrupt one another,
 * but softirqs.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>
#include <plumb/bpf/sched/waker.h>

#define SCHED_INTERRUPTS

/* With PREEMPT_RT only. */
struct task_struct___rt {
	int softirq_disable_cnt;
} __attribute__((preserve_access_index));

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

/* Of an idle CPU no thread is interrupted. */
static __always_inline struct irq_time *irq_time_of_thread(void)
{
	return plumb_live && (__u32)bpf_get_current_pid_tgid() ? irq_time() : NULL;
}

static __always_inline int hard_begins(void)
{
	struct irq_time *t = irq_time_of_thread();

	if (t)
		t->hard = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int hard_ends(void)
{
	struct irq_time *t = irq_time();
	__u64 ns;

	if (!t || !t->hard)
		return 0;
	ns = bpf_ktime_get_ns() - t->hard;
	t->hard = 0;
	t->nested += ns;
	irq_time_ended(t, ns);
	return 0;
}

SEC("raw_tp/irq_handler_entry")
int irq_time_begins(void *ctx __attribute__((unused)))
{
	return hard_begins();
}

SEC("raw_tp/irq_handler_exit")
int irq_time_ends(void *ctx __attribute__((unused)))
{
	return hard_ends();
}

SEC("raw_tp/softirq_entry")
int softirq_time_begins(void *ctx __attribute__((unused)))
{
	struct task_struct___rt *rt = (struct task_struct___rt *)bpf_get_current_task();
	struct irq_time *t = irq_time_of_thread();

	if (!t || bpf_core_field_exists(rt->softirq_disable_cnt))
		return 0;
	t->nested = 0;
	t->softirq = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/softirq_exit")
int softirq_time_ends(void *ctx __attribute__((unused)))
{
	struct irq_time *t = irq_time();
	__u64 ns;

	if (!t || !t->softirq)
		return 0;
	ns = bpf_ktime_get_ns() - t->softirq - t->nested;
	t->softirq = 0;
	irq_time_ended(t, ns);
	return 0;
}

/* Vectors that are no device's: the timer of the CPU, and interrupts by other CPUs. */
#ifdef __TARGET_ARCH_x86
SEC("raw_tp/local_timer_entry")
int timer_time_begins(void *ctx __attribute__((unused)))
{
	return hard_begins();
}

SEC("raw_tp/local_timer_exit")
int timer_time_ends(void *ctx __attribute__((unused)))
{
	return hard_ends();
}

SEC("raw_tp/reschedule_entry")
int reschedule_time_begins(void *ctx __attribute__((unused)))
{
	return hard_begins();
}

SEC("raw_tp/reschedule_exit")
int reschedule_time_ends(void *ctx __attribute__((unused)))
{
	return hard_ends();
}

SEC("raw_tp/call_function_entry")
int calls_time_begins(void *ctx __attribute__((unused)))
{
	return hard_begins();
}

SEC("raw_tp/call_function_exit")
int calls_time_ends(void *ctx __attribute__((unused)))
{
	return hard_ends();
}

SEC("raw_tp/call_function_single_entry")
int call_time_begins(void *ctx __attribute__((unused)))
{
	return hard_begins();
}

SEC("raw_tp/call_function_single_exit")
int call_time_ends(void *ctx __attribute__((unused)))
{
	return hard_ends();
}
#else
SEC("raw_tp/ipi_entry")
int ipi_time_begins(void *ctx __attribute__((unused)))
{
	return hard_begins();
}

SEC("raw_tp/ipi_exit")
int ipi_time_ends(void *ctx __attribute__((unused)))
{
	return hard_ends();
}
#endif
