/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * split: the parts of the time of calls.
 *
 *	time = on-cpu + irq + preempted + blocked + runq
 *
 * irq: on the CPU, while interrupts and softirqs had it (irq-time.bpf.h); preempted: off the CPU
 * though runnable; blocked: off the CPU until woken; runq: woken, and not yet running. The rest is
 * on the CPU, so the sum is exact.
 *
 * A tool can divide the time off the CPU into other parts (plumb_measure.parts), with on-cpu last.
 */
#pragma once

#include <plumb/bpf/core/types.h>

enum plumb_split_part {
	PLUMB_PREEMPTED,
	PLUMB_BLOCKED,
	PLUMB_RUNQ,
	PLUMB_IRQ,
	PLUMB_PARTS, /* parts in which the thread does not run */
	PLUMB_ON_CPU = PLUMB_PARTS,
	PLUMB_ALL_PARTS,
};

/*
 * Of system calls also what their threads waited for behind the last hook (return.h): in place of
 * on-cpu, which is the part after it.
 */
#define PLUMB_RETURN       PLUMB_PARTS
#define PLUMB_RETURN_PARTS (PLUMB_RETURN + 1)

/* Parts of any tool, on-cpu included. */
#define PLUMB_MAX_PARTS 14
