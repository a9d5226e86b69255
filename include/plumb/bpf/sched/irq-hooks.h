/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* irq-hooks: interrupts and softirqs by number, and the programs of irq-hooks.bpf.h. */
#pragma once

/* What has a CPU: one of these, and the number of an interrupt, of a vector or of a softirq. */
#define IRQ_DEVICE  (0U << 28)
#define IRQ_VECTOR  (1U << 28)
#define IRQ_SOFTIRQ (2U << 28)
#define IRQ_KINDS   3

#define IRQ_KIND(what)   ((what) >> 28)
#define IRQ_NUMBER(what) ((what)&0xfffffff)

/* Vectors that are no device's: the timer of the CPU, and interrupts by CPUs. */
enum irq_vector {
	IRQ_LOCAL_TIMER,
	IRQ_RESCHEDULE,
	IRQ_CALL_FUNCTION,
	IRQ_CALL_FUNCTION_SINGLE,
	IRQ_IRQ_WORK,
	IRQ_IPI, /* any, of arm64 */
	IRQ_VECTORS
};

#define IRQ_SOFTIRQS 10 /* include/linux/interrupt.h */

/* clang-format off */
/* Of devices and softirqs; an end before its beginning. */
#define IRQ_HOOKS "irq_handler_entry", "irq_handler_exit", "softirq_entry", "softirq_exit"
#define IRQ_PROGRAMS "irq_time_ends", "irq_time_begins", "softirq_time_ends", "softirq_time_begins"

/*
 * Of vectors. On arm64 those of other CPUs are interrupts of a device as well, whose programs run
 * around these.
 */
#ifdef __x86_64__
#define IRQ_VECTOR_HOOKS "local_timer_entry", "local_timer_exit", "reschedule_entry", "reschedule_exit", \
	"call_function_entry", "call_function_exit", "call_function_single_entry", "call_function_single_exit"
#define IRQ_VECTOR_PROGRAMS "timer_time_ends", "timer_time_begins", "reschedule_time_ends", "reschedule_time_begins", \
	"calls_time_ends", "calls_time_begins", "call_time_ends", "call_time_begins"
#else
#define IRQ_VECTOR_HOOKS "ipi_entry", "ipi_exit"
#define IRQ_VECTOR_PROGRAMS "ipi_time_ends", "ipi_time_begins"
#endif
/* clang-format on */
