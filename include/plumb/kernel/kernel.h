/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel: what this kernel has, as its BTF tells.  False and 0 also where there is none. */
#ifndef PLUMB_KERNEL_H
#define PLUMB_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

/* Where the kernel has no BTF of its own, its types are in FILE. */
void plumb_kernel_types(const char *file);

/* The kernel's types (types.h) are parsed for the first question below that needs them. */

/*
 * Programs of fentry's kind can be preempted wherever the kernel can (preemption.h), those of raw
 * tracepoints from 7.0 on, those of kprobes and perf events never.
 */
bool plumb_raw_tracepoints_can_be_preempted(void);

/*
 * Is the number of calls whose returns kprobe.multi and kprobe.session can wait for limited (twice
 * the CPUs for each function, up to 6.13)?  Returns of the calls beyond it are missed.
 */
bool plumb_fprobe_is_bounded(void);

/* Is a program of fentry's kind skipped when it interrupts itself (5.12)?  Before it is not. */
bool plumb_fentry_is_guarded(void);

/* Are misses of kprobes, tracepoints and their links counted (6.7)? */
bool plumb_kprobe_misses_are_counted(void);

/* Where programs can read the current preemption count (waker.h). */
uint32_t plumb_kernel_preempt_count(void);

/* Of a mechanism that uses sched.bpf.h. */
#define PLUMB_SCHED_STABILITY "stable-ish: arguments of scheduler tracepoints"

/*
 * Which form have the functions by which a program of both ends asks which end
 * it is at: 610, without argument; 700, with the context; 0, there are none.
 */
int plumb_session_form(void);

#endif
