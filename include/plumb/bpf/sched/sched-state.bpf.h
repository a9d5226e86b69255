/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sched-state: the state of a thread, whether it sleeps and how. */
#pragma once

#include <plumb/bpf/core/current.bpf.h>

/* include/linux/sched.h */
#define TASK_RUNNING         0x0000
#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define TASK_DEAD            0x0080
#define TASK_WAKING          0x0200 /* on another CPU, while the thread still leaves this one */
#define TASK_NOLOAD          0x0400 /* an idle kernel thread */

/* 5.14 renamed the field, since it must be read with READ_ONCE(). */
struct task_struct___old {
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline long sched_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return current_read(task, __state);
	return BPF_CORE_READ((struct task_struct___old *)task, state);
}

/* Whether the thread's cgroup, or one above it, has used up its CPU quota. */
static __always_inline bool sched_is_throttled(struct task_struct *task)
{
	if (!bpf_core_field_exists(struct cfs_rq, throttle_count))
		return false;
	return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

/*
 * ns that the current thread has been on CPUs, by the scheduler's own account, which is up to date
 * when it leaves one.  So it is known when it got a CPU even if that switch was not seen: some
 * kernels hide switches, and while a tracer attaches, programs may be skipped.
 */
static __always_inline __u64 sched_ran(struct task_struct *task)
{
	return current_read(task, se.sum_exec_runtime);
}
