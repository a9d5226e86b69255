/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hist, BPF face.
 *
 * Totals are kept per slot and CPU, buckets per slot and shard.  Where memory
 * allows, a shard belongs to one CPU and plain increments are exact.  Else CPUs
 * share and the increments are atomic.
 */
#ifndef PLUMB_HIST_BPF_H
#define PLUMB_HIST_BPF_H

#include <plumb/common.bpf.h>
#include <plumb/hist.h>
#include <plumb/totals.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: slots times shards */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u64)); /* set by the loader: buckets */
} plumb_hists SEC(".maps");

static __always_inline void hist_add(__u32 slot, __u32 cpu, __u64 ns)
{
	__u32 shard = plumb_config.exclusive ? cpu : cpu & (plumb_config.shards - 1);
	__u32 i, at = slot * plumb_config.shards + shard;
	__u64 *buckets = bpf_map_lookup_elem(&plumb_hists, &at);

	if (!buckets)
		return;
	i = plumb_hist_index(ns, plumb_config.precision);
	if (i >= plumb_config.buckets) /* never; for the verifier */
		return;
	if (plumb_config.exclusive)
		plumb_add(buckets[i], 1);
	else
		__sync_fetch_and_add(&buckets[i], 1);
}

#endif
