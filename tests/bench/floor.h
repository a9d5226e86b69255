/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* floor: the steps of a tracer's way through one call, each on top of those before it. */
#pragma once

enum floor_step {
	FLOOR_EMPTY,   /* the two programs run, and return */
	FLOOR_CLOCK,   /* each reads the clock: no latency tool does less */
	FLOOR_WHO,     /* each asks whose call it is */
	FLOOR_STORAGE, /* each looks up the thread's state, where the entry keeps its time */
	FLOOR_COUNT,   /* each counts the call in an array, a copy a CPU */
	FLOOR_TOTALS,  /* the exit adds to count, sum, minimum and maximum */
	FLOOR_HIST,    /* the exit adds to a log-linear histogram */
	FLOOR_STEPS,
};
