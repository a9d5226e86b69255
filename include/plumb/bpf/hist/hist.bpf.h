/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * hist, BPF side.
 *
 * If memory allows, each CPU has its own histogram of each slot, in which plain increments are
 * exact, followed by the slot's totals: one lookup finds both. Otherwise CPUs share histograms
 * ("shards") and increments are atomic.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/bpf/core/ledger.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: slots times shards */
	__uint(key_size, sizeof(__u32));
	/* set by the loader: buckets, totals, and the buckets' times if calls are split */
	__uint(value_size, sizeof(__u64));
} plumb_hists SEC(".maps");

/* The index of the histogram of a slot on this CPU. */
static __always_inline __u32 hist_at(__u32 slot, __u32 cpu)
{
	return slot * plumb_config.shards +
	       (plumb_config.exclusive ? cpu : cpu & (plumb_config.shards - 1));
}

/* The totals of a slot on this CPU, or NULL. */
static __always_inline struct plumb_totals *hist_totals(__u32 slot, __u32 cpu)
{
	__u32 at = hist_at(slot, cpu);
	__u64 *buckets;

	if (unlikely(!plumb_config.exclusive))
		return totals_of(slot, cpu);
	buckets = bpf_map_lookup_elem(&plumb_hists, &at);
	return buckets ? (struct plumb_totals *)(buckets + plumb_config.buckets) : NULL;
}

static __always_inline void hist_increase(__u64 *bucket, __u64 n, bool alone)
{
	if (plumb_config.exclusive)
		plumb_add_alone(alone, *bucket, n);
	else
		atomic_add(bucket, n);
}

/* Bucket I of BUCKETS; NULL, for the verifier: never. */
static __always_inline __u64 *hist_bucket(__u64 *buckets, __u32 i)
{
	barrier_var(i); /* checked and added in one register: of others 5.10 forgets bounds */
	if (i >= plumb_config.buckets)
		return NULL;
	buckets += i;
	barrier_var(buckets);
	return buckets;
}

/*
 * Add a value N times, 1 or -1, to histogram AT; return its totals, or NULL.  ALONE: as for
 * plumb_add_alone().
 */
static __always_inline struct plumb_totals *hist_add_alone(const __u32 *at, __u64 value,
							   __u32 error, __u64 on, bool counted,
							   __u64 n, bool alone)
{
	__u64 *buckets = bpf_map_lookup_elem(&plumb_hists, at);
	struct plumb_totals *totals;
	__u32 i;

	if (unlikely(!buckets))
		return NULL;
	totals = (struct plumb_totals *)(buckets + plumb_config.buckets);
	if (unlikely(!plumb_config.exclusive)) {
		totals = totals_of(*at / plumb_config.shards, bpf_get_smp_processor_id());
		if (!totals)
			return NULL;
	}
	/* The sum of the buckets is the count. */
	if (unlikely(error))
		plumb_add(totals->errors, n);
	if (n == 1)
		totals_add_time_alone(totals, value, alone);
	else
		plumb_add(totals->sum, -value);
	i = plumb_hist_index(value, plumb_config.precision);
	buckets = hist_bucket(buckets, i);
	if (!buckets)
		return totals;
	if (counted)
		hist_increase(buckets, n, alone);
	if (plumb_config.split)
		hist_increase(buckets + plumb_config.buckets + sizeof(*totals) / 8, on * n, alone);
	return totals;
}

static __always_inline struct plumb_totals *hist_add(const __u32 *at, __u64 value, __u32 error,
						     __u64 on, bool counted, __u64 n)
{
	return hist_add_alone(at, value, error, on, counted, n, false);
}

/* AT is in memory anyway. */
static __always_inline struct plumb_totals *hist_record_at(const __u32 *at, __u64 value,
							   __u32 error)
{
	return hist_add(at, value, error, value, true, 1);
}

/* Add a value to a slot; return its totals, or NULL. SECOND: of the key's second measure. */
static __always_inline struct plumb_totals *hist_record(__u32 slot, __u32 cpu, __u64 value,
							__u32 error, bool second)
{
	__u32 at = hist_at(second ? slot + plumb_config.second : slot, cpu);

	return hist_record_at(&at, value, error);
}

/* The same without an error, in a slot that only one program writes. */
static __always_inline void hist_record_alone(__u32 slot, __u32 cpu, __u64 value)
{
	__u32 at = hist_at(slot, cpu);

	hist_add_alone(&at, value, 0, value, true, 1, true);
}

/*
 * As hist_record(), N times, 1 or -1. Of a call that is split (split.h): ON ns on the CPU; COUNTED
 * if that is its largest part.
 */
static __always_inline struct plumb_totals *
hist_record_split(__u32 slot, __u32 cpu, __u64 value, __u32 error, __u64 on, bool counted, __u64 n)
{
	__u32 at = hist_at(slot, cpu);

	return hist_add(&at, value, error, on, counted, n);
}
