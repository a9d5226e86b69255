/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * split-hist: the parts of the time (split.h) of the calls in each bucket of a histogram.  Before,
 * the tool defines how many there are without on-cpu: enum { SPLIT_PARTS = ... };
 */
#pragma once

#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/sched/split.h>

/*
 * The off-CPU part of the calls of a bucket. The histogram has the rest: their time on the CPU, and
 * the number of calls that were mostly on the CPU. So each call is counted once and each ns added
 * once, and values that are read while calls are in flight add up as well.
 */
struct plumb_split {
	__u64 ns[SPLIT_PARTS];
	__u64 led[SPLIT_PARTS]; /* calls of which this part was the largest */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: slots */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct plumb_split)); /* set by the loader: buckets times this */
} plumb_splits SEC(".maps");

/*
 * 1 if A is less than B, else 0: times are less than 2^63.  Computed, since the verifier would
 * follow both values of each comparison, and with each all of those after it.
 */
static __always_inline __u64 split_less(__u64 a, __u64 b)
{
	__u64 less = (a - b) >> 63;

	barrier_var(less);
	return less;
}

/*
 * Record a call of NS ns, of which OFF, by part, were off the CPU, and ON on it, N times: 1 or -1.
 */
static __always_inline void split_record_n(const __u64 *off, __u32 slot, __u32 cpu, __u64 ns,
					   __u64 on, __u32 error, __u64 n)
{
	struct plumb_split *splits = bpf_map_lookup_elem(&plumb_splits, &slot);
	__u32 bucket = plumb_hist_index(ns, plumb_config.precision);
	__u64 most = 0, which = 0, more, part;
	__u32 i;

	if (!splits || bucket >= plumb_config.buckets) /* never; for the verifier */
		return;
	splits += bucket; /* of an index that is spilled 5.10 forgets the bounds */
	barrier_var(splits);
	/* Rolled, it goes back by falling through, which 6.1 takes for an endless loop. */
#pragma unroll
	for (i = 0; i < SPLIT_PARTS; i++) {
		part = off[i];
		barrier_var(part); /* adding a known 0 becomes an atomic or, which 5.10 has not */
		if (split_less(0, part))
			atomic_add(&splits->ns[i], part * n);
		more = split_less(most, part);
		most += (part - most) * more;
		which += (i - which) * more;
	}
	hist_record_split(slot, cpu, ns, error, on, most <= on, n);
	/* After the totals, like all counts: snapshots read counts before totals. */
	if (most > on && which < SPLIT_PARTS)
		atomic_add(&splits->led[which], n);
}

static __always_inline void split_record(const __u64 *off, __u32 slot, __u32 cpu, __u64 ns,
					 __u64 on, __u32 error)
{
	split_record_n(off, slot, cpu, ns, on, error, 1);
}
