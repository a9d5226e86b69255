/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * split: the parts of the time of calls.
 *
 *	time = on-cpu + preempted + blocked + runq
 *
 * preempted: off the CPU though runnable; blocked: off the CPU until woken; runq: woken, and not
 * yet running. The rest is on the CPU, so the sum is exact.
 */
#ifndef PLUMB_BPF_SPLIT_H
#define PLUMB_BPF_SPLIT_H

#include <plumb/bpf/core/types.h>

enum plumb_part {
	PLUMB_PREEMPTED,
	PLUMB_BLOCKED,
	PLUMB_RUNQ,
	PLUMB_PARTS, /* parts that are off the CPU */
	PLUMB_ON_CPU = PLUMB_PARTS,
	PLUMB_ALL_PARTS,
};

/*
 * The off-CPU part of the calls of a bucket. The histogram has the rest: their time on the CPU, and
 * the number of calls that were mostly on the CPU. So each call is counted once and each ns added
 * once, and values that are read while calls are in flight add up as well.
 */
struct plumb_split {
	__u64 ns[PLUMB_PARTS];
	__u64 led[PLUMB_PARTS]; /* calls of which this part was the largest */
};
_Static_assert(sizeof(struct plumb_split) == 48, "no hidden padding in a map's value");

#endif
