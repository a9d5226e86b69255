/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * preemption: whether this kernel takes the CPU from a thread that runs in the kernel.
 *
 * A BPF program that can be preempted is skipped, while it is, for all other threads of that CPU:
 * their calls are missed for a time slice.  So a mechanism whose programs can be preempted does not
 * record every call.
 */
#ifndef PLUMB_PREEMPTION_H
#define PLUMB_PREEMPTION_H

#include <stdbool.h>

/* What the kernel says of itself; NULL: it does not say. */
struct plumb_preemption {
	const char *version; /* as uname -v: "#1 SMP PREEMPT_DYNAMIC Debian ..." */
	const char *mode;    /* /sys/kernel/debug/sched/preempt: "none voluntary (full)" */
	const char *cmdline; /* /proc/cmdline */
	const char *config;  /* of the kernel's configuration the line of its default: a symbol */
};

/* Where nothing says that it does not, it does. */
bool plumb_preemption_judge(const struct plumb_preemption *p);

/* The same of the running kernel, asked once. */
bool plumb_kernel_is_preemptible(void);

#endif
