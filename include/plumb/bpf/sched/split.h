/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * split: where the time of calls went.
 *
 *	time = on-cpu + preempted + blocked + runq
 *
 * preempted: off the CPU though runnable; blocked: off it until woken; runq:
 * woken, and not yet running.  What is left is on the CPU, so that the sum is exact.
 */
#ifndef PLUMB_BPF_SPLIT_H
#define PLUMB_BPF_SPLIT_H

#include <plumb/bpf/core/types.h>

enum plumb_part {
	PLUMB_PREEMPTED,
	PLUMB_BLOCKED,
	PLUMB_RUNQ,
	PLUMB_PARTS, /* off the CPU */
	PLUMB_ON_CPU = PLUMB_PARTS,
	PLUMB_ALL_PARTS,
};

/*
 * The calls of a bucket, in so far as they were off the CPU.  The histogram has the
 * rest: their time on it, and of the calls those that were mostly on it.  So each
 * call is counted once, each ns added once, and what is read while calls go on
 * adds up as well.
 */
struct plumb_split {
	__u64 ns[PLUMB_PARTS];
	__u64 led[PLUMB_PARTS]; /* calls of which this part was the largest */
};
_Static_assert(sizeof(struct plumb_split) == 48, "no hidden padding in a map's value");

#endif
