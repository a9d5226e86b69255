/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* split-hist: the parts of the time (split.h) of the calls in each bucket of a histogram. */
#ifndef PLUMB_SPLIT_HIST_BPF_H
#define PLUMB_SPLIT_HIST_BPF_H

#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/sched/split.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: slots */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct plumb_split)); /* set by the loader: buckets times this */
} plumb_splits SEC(".maps");

/* Record a call of NS ns, of which OFF, by part, were off the CPU, and ON on it. */
static __always_inline void split_record(const __u64 *off, __u32 slot, __u32 cpu, __u64 ns,
					 __u64 on, __u32 error)
{
	struct plumb_split *splits = bpf_map_lookup_elem(&plumb_splits, &slot);
	__u32 bucket = plumb_hist_index(ns, plumb_config.precision);
	__u64 most = on;
	int i, led = PLUMB_ON_CPU;

	if (!splits || bucket >= plumb_config.buckets) /* never; for the verifier */
		return;
	for (i = 0; i < PLUMB_PARTS; i++) {
		if (off[i])
			__sync_fetch_and_add(&splits[bucket].ns[i], off[i]);
		if (off[i] > most) {
			most = off[i];
			led = i;
		}
	}
	hist_record_split(slot, cpu, ns, error, on, led == PLUMB_ON_CPU);
	/* After the totals, like all counts: snapshots read counts before totals. */
	if (led < PLUMB_PARTS)
		__sync_fetch_and_add(&splits[bucket].led[led], 1);
}

#endif
