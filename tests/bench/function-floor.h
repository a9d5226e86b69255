/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* function-floor: the steps of a tracer's way through one call, each on top of those before it. */
#pragma once

#include <plumb/bpf/core/types.h>

enum floor_step {
	FLOOR_EMPTY,  /* the hooks run, and return */
	FLOOR_CLOCK,  /* each reads the clock: no latency tool does less */
	FLOOR_START,  /* the entry keeps its time: in the session's cookie, else in task storage */
	FLOOR_WHO,    /* the exit knows the row by pid and comm, which its CPU saw last */
	FLOOR_TOTALS, /* it adds to count, sum, minimum and maximum */
	FLOOR_HIST,   /* it adds to a log-linear histogram */
	FLOOR_STEPS,
};

/* What one CPU knows: cache lines of its own. */
struct floor_seen {
	__u64 comm[2];
	__u32 tgid, row;
	__u64 count, sum, max, inverted_min;
	__u64 pad[9];
};
