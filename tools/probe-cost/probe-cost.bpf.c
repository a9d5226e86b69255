/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The programs that are measured: three bodies for each program type.  Those of kprobe and fentry
 * are attached to all hooks that accept their type.
 */
#include "probe-cost.h"

#include <bpf/bpf_helpers.h>
#include <plumb/bpf/core/atomic.h>

#define CPUS       128 /* a power of two; those beyond share counters */
#define CACHE_LINE 8   /* in counters */

static __u64 counters[CPUS * CACHE_LINE] = {};

/* The loader adds the entry of the tool's own fires.  Fires of other processes find none. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct probe_cost_key);
	__type(value, struct probe_cost_histogram);
} histograms SEC(".maps");

static __always_inline void empty(void)
{
}

/* Atomic, as it has to be if a program can interrupt itself. */
static __always_inline void counter(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	atomic_add(&counters[(cpu & (CPUS - 1)) * CACHE_LINE], 1);
}

/*
 * As a latency tracer: read the clock, pid and comm, look up their histogram, and count in its
 * bucket.
 */
static __always_inline void histogram(void)
{
	struct probe_cost_key key = {.pid = bpf_get_current_pid_tgid() >> 32};
	__u64 ns = bpf_ktime_get_ns() & 0xfffff; /* anything up to a millisecond */
	struct probe_cost_histogram *h;
	__u32 i;

	bpf_get_current_comm(key.comm, sizeof(key.comm));
	h = bpf_map_lookup_elem(&histograms, &key);
	if (!h)
		return;
	i = plumb_hist_index(ns, PLUMB_HIST_PRECISION);
	if (i < PROBE_COST_BUCKETS)
		atomic_add(&h->buckets[i], 1);
}

#define PROGRAM(section, body)                                                                     \
	SEC(#section) int section##_##body(void *ctx __attribute__((unused)))                      \
	{                                                                                          \
		body();                                                                            \
		return 0;                                                                          \
	}
#define PROGRAMS(section)                                                                          \
	PROGRAM(section, empty)                                                                    \
	PROGRAM(section, counter)                                                                  \
	PROGRAM(section, histogram)

PROGRAMS(raw_tp)
PROGRAMS(tracepoint)
PROGRAMS(fentry)
PROGRAMS(kprobe)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
