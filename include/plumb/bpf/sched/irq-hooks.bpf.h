/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * irq-hooks: programs at the beginning and the end of each interrupt and softirq.  A file that
 * includes this has defined irq_begins() and irq_ends(), of interrupts, and softirq_enters() and
 * softirq_leaves(); WHAT is a number of irq-hooks.h.
 *
 * Interrupts are disabled in a handler: handlers do not interrupt one another, but softirqs.  A
 * softirq that an interrupt has raised runs after the end of its handler.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/sched/irq-hooks.h>

static __always_inline int irq_enters(__u32 what);
static __always_inline int irq_leaves(__u32 what);
static __always_inline int softirq_enters(__u32 what);
static __always_inline int softirq_leaves(__u32 what);

/* With PREEMPT_RT only. */
struct task_struct___rt {
	int softirq_disable_cnt;
} __attribute__((preserve_access_index));

/* On PREEMPT_RT softirqs run in threads, which can be preempted, and are time of these. */
static __always_inline bool softirqs_are_threads(void)
{
	return bpf_core_field_exists(struct task_struct___rt, softirq_disable_cnt);
}

/*
 * The time, at the end of a softirq, and what COUNTED, which the ends of handlers add to, was then:
 * of a handler that interrupts this, all is in both, or nothing.
 */
static __always_inline __u64 irq_clock(const __u64 *counted, __u64 *nested)
{
	const volatile __u64 *counter = counted;
	__u64 now;

	*nested = *counter;
	now = bpf_ktime_get_ns();
	if (*counter != *nested) {
		*nested = *counter;
		now = bpf_ktime_get_ns();
	}
	return now;
}

SEC("raw_tp/irq_handler_entry")
int irq_time_begins(struct bpf_raw_tracepoint_args *ctx)
{
	return irq_enters(IRQ_DEVICE | ctx->args[0]);
}

SEC("raw_tp/irq_handler_exit")
int irq_time_ends(struct bpf_raw_tracepoint_args *ctx)
{
	return irq_leaves(IRQ_DEVICE | ctx->args[0]);
}

SEC("raw_tp/softirq_entry")
int softirq_time_begins(struct bpf_raw_tracepoint_args *ctx)
{
	return softirq_enters(IRQ_SOFTIRQ | ctx->args[0]);
}

SEC("raw_tp/softirq_exit")
int softirq_time_ends(struct bpf_raw_tracepoint_args *ctx)
{
	return softirq_leaves(IRQ_SOFTIRQ | ctx->args[0]);
}

#ifdef __TARGET_ARCH_x86
SEC("raw_tp/local_timer_entry")
int timer_time_begins(void *ctx __attribute__((unused)))
{
	return irq_enters(IRQ_VECTOR | IRQ_LOCAL_TIMER);
}

SEC("raw_tp/local_timer_exit")
int timer_time_ends(void *ctx __attribute__((unused)))
{
	return irq_leaves(IRQ_VECTOR | IRQ_LOCAL_TIMER);
}

SEC("raw_tp/reschedule_entry")
int reschedule_time_begins(void *ctx __attribute__((unused)))
{
	return irq_enters(IRQ_VECTOR | IRQ_RESCHEDULE);
}

SEC("raw_tp/reschedule_exit")
int reschedule_time_ends(void *ctx __attribute__((unused)))
{
	return irq_leaves(IRQ_VECTOR | IRQ_RESCHEDULE);
}

SEC("raw_tp/call_function_entry")
int calls_time_begins(void *ctx __attribute__((unused)))
{
	return irq_enters(IRQ_VECTOR | IRQ_CALL_FUNCTION);
}

SEC("raw_tp/call_function_exit")
int calls_time_ends(void *ctx __attribute__((unused)))
{
	return irq_leaves(IRQ_VECTOR | IRQ_CALL_FUNCTION);
}

SEC("raw_tp/call_function_single_entry")
int call_time_begins(void *ctx __attribute__((unused)))
{
	return irq_enters(IRQ_VECTOR | IRQ_CALL_FUNCTION_SINGLE);
}

SEC("raw_tp/call_function_single_exit")
int call_time_ends(void *ctx __attribute__((unused)))
{
	return irq_leaves(IRQ_VECTOR | IRQ_CALL_FUNCTION_SINGLE);
}
#else
SEC("raw_tp/ipi_entry")
int ipi_time_begins(void *ctx __attribute__((unused)))
{
	return irq_enters(IRQ_VECTOR | IRQ_IPI);
}

SEC("raw_tp/ipi_exit")
int ipi_time_ends(void *ctx __attribute__((unused)))
{
	return irq_leaves(IRQ_VECTOR | IRQ_IPI);
}
#endif
