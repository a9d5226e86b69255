/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* meanwhile: what happened while threads that were runnable waited for a CPU. */
#pragma once

#include <plumb/bpf/key/key.h>

enum plumb_meanwhile_kind {
	PLUMB_MEANWHILE_UNKNOWN, /* it is too long ago, or was not seen */
	PLUMB_MEANWHILE_THREAD,  /* another thread had the CPU */
	PLUMB_MEANWHILE_IDLE,    /* none had: the CPU had to wake up, or the thread to move there */
	PLUMB_MEANWHILE_QUOTA,   /* the CPU quota of a cgroup was used up */
	PLUMB_MEANWHILE_WAITER,  /* not one of these: a thread that waited */
};

#define PLUMB_REALTIME (-100) /* plumb_meanwhile.nice of a policy that is not a fair one */

#define PLUMB_MEANWHILE_WORDS 4 /* of a mask of CPUs */

/* The key of a sum. */
struct plumb_meanwhile {
	__u32 kind;
	__u32 pid, tid;
	__s32 nice;
	__u16 policy, priority; /* as SCHED_FIFO, and from 1 to 99 */
	/* How many CPUs it may use; of a waiter 0, if the mask holds all. */
	__u32 n_allowed;
	char comm[PLUMB_COMM_LEN];
	union {
		__u64 allowed[PLUMB_MEANWHILE_WORDS]; /* of a waiter: a mask of CPUs */
		__u64 cpu; /* of who had it, if it may use no other; else 0 */
		struct {
			__u64 cgroup, quota, period; /* CGROUP: a key of the map of paths; ns */
		};
	};
};
_Static_assert(sizeof(struct plumb_meanwhile) == 72, "no hidden padding in a hash key");

struct plumb_meanwhile_sum {
	__u64 ns, count;
};

/* The path of a cgroup, innermost name first. */
#define PLUMB_MEANWHILE_DEPTH 8
#define PLUMB_MEANWHILE_NAME  96 /* what is longer is cut */
struct plumb_meanwhile_path {
	char names[PLUMB_MEANWHILE_DEPTH][PLUMB_MEANWHILE_NAME]; /* "": none */
	__u32 cut;                                               /* there are more names */
	__u32 pad;
};
