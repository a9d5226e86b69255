/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waiting: what happens from one report to the next: signals, records, ends of processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <plumb/core/inflight.h>
#include <plumb/core/run.h>
#include <plumb/core/snapshot.h>

#include "records.h"

/* The state of a trace. */
struct loop {
	struct plumb_run *run;
	struct plumb_snapshot
		last; /* as of the latest interval; at first empty, but for its time */
	struct plumb_snapshot total; /* the whole loop, at its end */
	uint64_t start;              /* ns, CLOCK_MONOTONIC */
	uint64_t intervals;
	uint64_t look; /* when to look at cgroups and CPUs, as START; 0: at once */
	uint64_t tick; /* when to call the tool's tick(), as START; 0: never */
	int wake;      /* what makes it due now; -1: nothing */
	uint64_t grid; /* intervals end at multiples of their length after it, as START */
	int signals;   /* a signalfd */
	bool asked;    /* SIGUSR1: for a dump of --keep */
	struct plumb_records records;
	const struct plumb_in_flight *in_flight; /* NULL: calls in flight are not listed */
	struct plumb_flights flights;            /* as of the latest report */
	bool over;
};

/*
 * Waits until DEADLINE (ns, monotonic; 0: none), until the run is over, or until a dump is asked
 * for.  Pending events are handled even after DEADLINE, because reports may take longer than their
 * intervals.
 */
void wait_until(struct loop *loop, uint64_t deadline);
/* The same, but calls the tool's tick() when it is due. */
void wait_ticking(struct loop *loop, uint64_t deadline);
