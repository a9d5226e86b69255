/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the loader and the programs of offcpu-time agree on. */
#ifndef OFFCPU_TIME_H
#define OFFCPU_TIME_H

#include <plumb/bpf/stack/stacks.h>
#include <plumb/bpf/sched/waker.h>

#define OFFCPU_BY_STATE PLUMB_BY_TOOL
#define OFFCPU_BY_WAKER (PLUMB_BY_TOOL << 1)

/* Why a thread has no CPU: what it says itself when it gives it up. */
enum offcpu_state {
	OFFCPU_PREEMPTED,
	OFFCPU_SLEEPING,
	OFFCPU_UNINTERRUPTIBLE,
	OFFCPU_IDLE,
	OFFCPU_OTHER,
	OFFCPU_STATES
};

struct offcpu_key {
	struct plumb_stack_key stack;
	struct plumb_waker waker; /* or preempter; by processes: tid is 0 */
};

struct offcpu_config {
	__u64 min_ns, max_ns; /* only stays of this length */
};

#endif
