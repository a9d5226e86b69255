/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * return: what a thread waits for behind the last hook of its call, on its way out of the kernel:
 * there the kernel takes the CPU from it, or makes it sleep above memory.high.
 *
 * While the thread waits, its call is not recorded, but in flight; afterwards it is recorded with
 * the wait.  If a report may have it already, it stays as it was, and is counted in LATE.
 */
#pragma once

#include <plumb/bpf/core/types.h>

/* Why the thread has no CPU, as of the time at which it lost it. */
enum plumb_return_cause {
	PLUMB_RETURN_QUOTA,  /* its cgroup's CPU quota was used up */
	PLUMB_RETURN_ASLEEP, /* above memory.high, releasing a file, stopped */
	PLUMB_RETURN_PREEMPTED,
	PLUMB_RETURN_CAUSES,
};

/* The thread's last call, while nothing else of the thread has begun. */
struct plumb_return {
	__u64 ended;  /* ns, CLOCK_MONOTONIC: when it was recorded; 0: not known, or in a call */
	__u64 ns;     /* as it is recorded, with all waits so far */
	__u64 left;   /* ns, CLOCK_MONOTONIC: since when it has no CPU (0: it has one) */
	__u64 found;  /* of which value of ENDED the rest is */
	__u64 waited; /* ns, in all waits */
	__u64 task;   /* its key in plumb_held, if LEFT is set */
	__u64 queued; /* ns: how long it had waited for CPUs in all its life, when it left */
	__u64 longest;
	__u32 slot, error;
	__u32 cause, longest_cause; /* enum plumb_return_cause: of the last wait, of the longest */
	__u32 late;                 /* it may be in a report, and stays as it is */
	__u32 cpu;                  /* that it left */
};

/* In the map plumb_returns, of a CPU. */
struct plumb_returns {
	__u64 calls, ns, longest;
	__u64 late; /* of CALLS: their waits are not in their time, */
	__u64 late_ns;
	__u64 by_cause[PLUMB_RETURN_CAUSES];
};
_Static_assert(sizeof(struct plumb_returns) == 64, "one cache line a CPU");
