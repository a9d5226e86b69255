/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of event-rate. */
#pragma once

#include <plumb/bpf/key/key.h>

/* Events are numbered: first those of perf counters, then the trace targets. */
struct event_rate_key {
	struct plumb_who who;
	__u32 event;
	__u32 pad;
};
_Static_assert(sizeof(struct event_rate_key) == 64, "no hidden padding in a hash key");

#define RATE_MAX_COUNTERS 16

struct rate_config {
	__u32 n;      /* events of counters, at most RATE_MAX_COUNTERS */
	__u32 direct; /* a bit for each that is the run of the program itself: context-switches */
	/* A bit for each that the kernel counts in a switch after the program: cgroup-switches. */
	__u32 after;
	__u32 clocks; /* A bit for each clock among other events, whose ns [other] does not have. */
};

/* A counter on a CPU, as it was read last. */
struct rate_state {
	__u64 value;
	__u64 enabled, running; /* ns since it was opened: of the trace, and of that on the PMU */
	__u64 unread;           /* failed readings */
	/* Of AFTER: */
	__u64 left;    /* the slot of the thread that left last, plus 1; 0: none */
	__u64 surplus; /* events beyond the first of a switch, which are nobody's */
	/* Of CLOCKS: ns of keys for which there was no row. */
	__u64 pooled;
	__u64 pad;
};
_Static_assert(sizeof(struct rate_state) == 64, "one cache line");

/*
 * N events of a counter that was on the PMU for RUNNING of ENABLED ns, extrapolated to the whole
 * time: at most 0.1 % low, until ENABLED is 208 days (2^54 ns).  A counter that was never on the
 * PMU has counted nothing.
 */
static inline __u64 rate_scaled(__u64 n, __u64 enabled, __u64 running)
{
	if (running >= enabled || !running)
		return n;
	return n * ((enabled << 10) / running) >> 10;
}
