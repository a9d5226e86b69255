/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stay: the time on a CPU of the thread that has it. */
#ifndef PLUMB_BPF_STAY_H
#define PLUMB_BPF_STAY_H

#include <plumb/bpf/sched/waker.h>

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

#endif
