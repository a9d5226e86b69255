/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waker: the context that woke a thread, or the thread that took its CPU. */
#pragma once

#include <plumb/bpf/key/key.h>

enum plumb_waker_kind {
	PLUMB_WAKER_UNKNOWN,
	PLUMB_WAKER_THREAD,
	PLUMB_WAKER_SOFTIRQ,   /* interrupted the thread, which may have caused it */
	PLUMB_WAKER_EITHER,    /* a softirq or an interrupt, on top of the thread */
	PLUMB_WAKER_INTERRUPT, /* on top of an unrelated thread: no other member is valid */
	PLUMB_PREEMPTER,       /* not a waker: the thread that had the CPU longest meanwhile */
	PLUMB_PREEMPTER_IDLE,  /* no thread had */
	PLUMB_THROTTLED,       /* by no thread: the cgroup's CPU quota was used up */
	/* Of tools that include interrupts.bpf.h: no thread, not the one that was interrupted. */
	PLUMB_WAKER_TIMER,
	PLUMB_WAKER_DEVICE, /* COMM is the name of its interrupt, or "block", of the block layer's
			       softirq */
	/* Not a waker: where the owner of a lock slept, or released it. */
	PLUMB_OWNER_SLEEPS,
	PLUMB_OWNER_RELEASES,
};

struct plumb_waker {
	__u32 kind;
	__u32 pid, tid;
	__s32 kernel, user; /* stacks (stacks.h), the user's that of PID */
	__u32 call;         /* the system call's number and 1 that TID was in; 0: none */
	char comm[PLUMB_COMM_LEN];
};
_Static_assert(sizeof(struct plumb_waker) == 40, "no hidden padding in a map's value");

/*
 * In plumb_config.preempt_count: how each CPU stores it: an int, a long, or the first member of its
 * hot data.
 */
enum {
	PLUMB_PREEMPT_COUNT_NONE,
	PLUMB_PREEMPT_COUNT,
	PLUMB_PREEMPT_COUNT_LONG,
	PLUMB_PREEMPT_COUNT_HOT,
};

/* In programs, until the loader replaces it by the BTF ID of the variable. */
#define PLUMB_PREEMPT_COUNT_UNSET 0x706c756d62636e74LL

/* In plumb_config.wakers. */
enum { PLUMB_WAKERS_NAMES = 1, PLUMB_WAKERS_STACKS };

/* The time on a CPU of the thread that has it. */
struct sched_stay {
	__u64 task;
	__u64 began; /* ns, CLOCK_MONOTONIC */
	__u64 since; /* when its wait began; 0: not known */
	union {
		struct plumb_waker waker; /* if SCHED_WAKERS */
		/* If SCHED_IDLE: since when the CPU had been idle before it; 0: it had not. */
		__u64 idle;
	};
};
_Static_assert(sizeof(struct sched_stay) == 64, "one cache line a CPU");
