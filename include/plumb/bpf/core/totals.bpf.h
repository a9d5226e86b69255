/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* totals: the counters of one slot on one CPU, if they are not kept in a histogram of that CPU. */
#pragma once

#include <plumb/bpf/core/common.bpf.h>

PLUMB_MAP(plumb_totals, ARRAY, 1 /* set by the loader: possible CPUs times slots */, __u32,
	  struct plumb_totals);

static __always_inline struct plumb_totals *totals_of(__u32 slot, __u32 cpu)
{
	/* Grouped by CPU, so that CPUs share a cache line only at the group boundaries. */
	__u32 at = cpu * (plumb_config.slots + plumb_config.second) + slot;

	return bpf_map_lookup_elem(&plumb_totals, &at);
}

static __always_inline void totals_add_call(struct plumb_totals *t, __u32 error)
{
	plumb_add(t->count, 1);
	if (error)
		plumb_add(t->errors, 1);
}

/* min and max are exact if one program writes the slot: interleaved programs must not share one. */
static __always_inline void totals_add_time_alone(struct plumb_totals *t, __u64 ns, bool alone)
{
	plumb_add_alone(alone, t->sum, ns);
	if (ns > t->max)
		t->max = ns;
	if (~ns > t->inverted_min)
		t->inverted_min = ~ns;
}

static __always_inline void totals_add_time(struct plumb_totals *t, __u64 ns)
{
	totals_add_time_alone(t, ns, false);
}
