/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of probe-cost. */
#pragma once

#include <plumb/bpf/hist/hist.h>
#include <plumb/bpf/key/key.h>

#define PROBE_COST_BUCKETS                                                                         \
	(((PLUMB_HIST_RANGE_BITS + 1 - PLUMB_HIST_PRECISION) << PLUMB_HIST_PRECISION) + 1)

struct probe_cost_key {
	char comm[PLUMB_COMM_LEN];
	__u32 pid;
	__u32 pad;
};
_Static_assert(sizeof(struct probe_cost_key) == 24, "no hidden padding in a hash key");

struct probe_cost_histogram {
	__u64 buckets[PROBE_COST_BUCKETS];
};
