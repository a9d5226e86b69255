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

/* An int; from 7.0 on a byte. */
static __always_inline bool sched_is_on_cpu(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu);
}

/* Where it says on some kernels whether a thread waits for I/O. */
struct task_struct___io {
	unsigned int in_iowait : 1;
} __attribute__((preserve_access_index));

static __always_inline bool sched_waits_for_io(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD_PROBED((struct task_struct___io *)task, in_iowait);
}

struct task_struct___throttled {
	bool throttled;
} __attribute__((preserve_access_index));

/*
 * From 6.18 on a quota takes the CPU from threads one by one, each on its way to user mode.  In the
 * kernel they run on, and if they lack a CPU there, others have it.
 */
static __always_inline bool sched_throttles_threads(void)
{
	return bpf_core_field_exists(struct task_struct___throttled, throttled);
}

/* Whether the thread lacks CPU quota: its own, or that of its cgroup or of one above it. */
static __always_inline bool sched_is_throttled(struct task_struct *task)
{
	if (sched_throttles_threads())
		return BPF_CORE_READ((struct task_struct___throttled *)task, throttled);
	if (!bpf_core_field_exists(struct cfs_rq, throttle_count))
		return false;
	return BPF_CORE_READ(task, se.cfs_rq, throttle_count) > 0;
}

/* The thread's group, of its cgroup, by address; 0: this kernel has none. */
static __always_inline __u64 sched_group(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_task_group))
		return 0;
	return (__u64)BPF_CORE_READ(task, sched_task_group);
}

/* The group above; 0: none is. */
static __always_inline __u64 sched_group_above(__u64 group)
{
	return (__u64)BPF_CORE_READ((struct task_group *)group, parent);
}

/* An int up to 6.17. */
struct cfs_rq___throttled {
	struct task_group *tg;
	unsigned int throttled : 1;
} __attribute__((preserve_access_index));

/* Whether the quota of GROUP itself is used up on the CPU of its QUEUE. */
static __always_inline bool sched_queue_is_throttled(__u64 queue, __u64 group)
{
	struct cfs_rq___throttled *q = (struct cfs_rq___throttled *)queue;

	return (__u64)BPF_CORE_READ(q, tg) == group && BPF_CORE_READ_BITFIELD_PROBED(q, throttled);
}

#define SCHED_GROUPS_DEEP 8

/*
 * Of the groups of the current thread, the one whose quota is used up on its CPU, with its queue
 * there; 0: none is.
 */
static __always_inline __u64 sched_throttled_group(struct task_struct *task, __u64 *queue)
{
	struct sched_entity *entity = &task->se;
	struct cfs_rq___throttled *q;
	__u64 group;
	int i;

	if (!bpf_core_field_exists(entity->parent) || !sched_is_throttled(task))
		return 0;
	for (i = 0; i < SCHED_GROUPS_DEEP && entity; i++) {
		q = (struct cfs_rq___throttled *)BPF_CORE_READ(entity, cfs_rq);
		group = (__u64)BPF_CORE_READ(q, tg);
		*queue = (__u64)q;
		if (sched_queue_is_throttled((__u64)q, group))
			return group;
		entity = BPF_CORE_READ(entity, parent);
	}
	return 0;
}

/*
 * When GROUP last got a new quota, ns, CLOCK_MONOTONIC: a period before its timer expires; 0: not
 * known.
 */
static __always_inline __u64 sched_group_refilled(__u64 group)
{
	struct task_group *tg = (struct task_group *)group;

	if (!bpf_core_field_exists(tg->cfs_bandwidth.period_timer.node.expires))
		return 0;
	return BPF_CORE_READ(tg, cfs_bandwidth.period_timer.node.expires) -
	       BPF_CORE_READ(tg, cfs_bandwidth.period);
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
