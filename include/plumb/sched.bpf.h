/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sched: what the scheduler keeps of each task anyway, for programs on sched_switch.
 *
 * There the current task is the one that leaves.  Of its last stay off the CPU the
 * kernel knows all by then: when it came back (last_arrival), and how long it had
 * waited for a CPU in all (run_delay).  So nothing is asked of the task that comes,
 * nor of who wakes whom, and no table is needed from one to the other.
 *
 * These times are of the run queue's clock, which is not CLOCK_MONOTONIC: their
 * differences are good, up to what NTP makes of a second (500 ppm).
 */
#ifndef PLUMB_SCHED_BPF_H
#define PLUMB_SCHED_BPF_H

#include <plumb/current.bpf.h>

/* include/linux/sched.h */
#define TASK_RUNNING         0x0000
#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_DEAD            0x0080
#define TASK_WAKING          0x0200 /* on another CPU, while it still leaves this one */
#define TASK_NOLOAD          0x0400 /* a kernel thread that has nothing to do */

/* 5.14 renamed the field, since readers of it must expect others to write it. */
struct task_struct___old {
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline long sched_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return current_read(task, __state);
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

/* The clock of its run queue, in ns: read by the scheduler a moment ago. */
static __always_inline __u64 sched_clock(struct task_struct *task)
{
	if (plumb_config.task_storage)
		return task->se.cfs_rq->rq->clock;
	return BPF_CORE_READ(task, se.cfs_rq, rq, clock);
}

#endif
