/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * preemption: whether this kernel preempts threads that run in the kernel.
 *
 * While a BPF program is preempted, the kernel skips it for all other threads of that CPU: their
 * calls are missed for a time slice.  So a mechanism whose programs can be preempted does not
 * record every call.
 */
#pragma once

#include <stdbool.h>

/* Where a kernel reports its preemption model; NULL: not available. */
struct plumb_preemption {
	const char *version; /* as uname -v: "#1 SMP PREEMPT_DYNAMIC Debian ..." */
	const char *mode;    /* /sys/kernel/debug/sched/preempt: "none voluntary (full)" */
	const char *cmdline; /* /proc/cmdline */
	const char *config;  /* the line of the kernel's configuration with the default model */
};

/* Returns true unless one of these shows that the kernel is not preemptible. */
bool plumb_preemption_judge(const struct plumb_preemption *p);

/* The same for the running kernel, read once. */
bool plumb_kernel_is_preemptible(void);
