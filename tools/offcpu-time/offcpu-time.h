/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of offcpu-time. */
#pragma once

#include <plumb/bpf/sched/waker.h>
#include <plumb/bpf/stack/stacks.h>

#define OFFCPU_BY_STATE PLUMB_BY_TOOL
#define OFFCPU_BY_WAKER (PLUMB_BY_TOOL << 1)

/* Why a thread has no CPU, by its task state as it leaves it. */
enum offcpu_state {
	OFFCPU_PREEMPTED,
	OFFCPU_THROTTLED,
	OFFCPU_SLEEPING,
	OFFCPU_UNINTERRUPTIBLE,
	OFFCPU_IDLE,
	OFFCPU_OTHER,
	OFFCPU_STATES
};

struct offcpu_key {
	struct plumb_stack_key stack;
	struct plumb_waker waker; /* or preempter */
	/* Of sleeps whose wakers are told, the thread; 0: rows are scarce. */
	__u32 tid;
	__u32 lock; /* it waited for a lock of user code */
};
_Static_assert(sizeof(struct offcpu_key) % 8 == 0, "no hidden padding in a hash key");

/* In plumb_totals.counters: ns that are idle, if the call is one that waits for work. */
#define OFFCPU_IDLE_NS 0

struct offcpu_config {
	__u64 min_ns, max_ns; /* only off-CPU intervals of this length */
};
