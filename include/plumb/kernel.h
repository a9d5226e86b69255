/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel: what this kernel has, as its BTF tells.  False and 0 also where there is none. */
#ifndef PLUMB_KERNEL_H
#define PLUMB_KERNEL_H

#include <stdbool.h>

struct plumb_options;

/* Where the kernel has no BTF of its own, its types are in FILE. */
void plumb_kernel_types(const char *file);

/*
 * While a program is preempted the kernel skips it for all other threads on that
 * CPU: their calls are missed for a whole time slice.  fentry programs can be
 * preempted wherever the kernel can, those of raw tracepoints from 7.0 on, those
 * of tracepoints never.
 */
bool plumb_fentry_can_be_preempted(void);
bool plumb_raw_tracepoints_can_be_preempted(void);

/* Is a program of fentry's kind skipped when it interrupts itself (5.12)?  Before it is not. */
bool plumb_fentry_is_guarded(void);

/* Are misses of kprobes, tracepoints and their links counted (6.7)? */
bool plumb_kprobe_misses_are_counted(void);

/*
 * As plumb_tool.prepare: can sched.bpf.h be used?  0, or -EOPNOTSUPP after saying what
 * the scheduler does not keep.
 */
int plumb_sched_check(struct plumb_options *options);

/* Of a rung that uses it. */
#define PLUMB_SCHED_STABILITY "stable-ish: tracepoint, and the fields of sched_info"

/*
 * Which form have the functions by which a program of both ends asks which end
 * it is at: 610, without argument; 700, with the context; 0, there are none.
 */
int plumb_session_form(void);

#endif
