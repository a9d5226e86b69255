/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * witness: --verify, what the kernel itself counts beside the tool's programs.
 *
 * At the beginning and the end of a run three numbers are read: the witness's, the tool's, and the
 * witness's again.  So the events between the two readings of the tool are at least and at most a
 * number that is known, and only what is below the least was missed for certain.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <plumb/core/tool.h>

struct perf_event_attr;
struct plumb_run;

struct plumb_witness {
	const char *source;  /* what counts: "perf events sys_enter" */
	const char *counted; /* "requests"; NULL: measure.counted, or calls */
	/* In processes and threads it misses what a thread does once it is ending. */
	bool misses_ends;
	/*
	 * Before the tool is confined: opens what counts the events of the run's filters, and no
	 * other ones but the tool's own.  NULL, or why this run has no witness.
	 */
	const char *(*open)(const struct plumb_run *run);
	/* All so far, of the tool's own, and those that its programs have counted. */
	uint64_t (*count)(void);
	uint64_t (*own)(void);
	uint64_t (*seen)(const struct plumb_run *run);
	/* NULL: none. How many so far only one of both may have counted. */
	uint64_t (*unsure)(void);
	/* NULL: none. After the last reading: why the witness's numbers say nothing, or NULL. */
	const char *(*doubt)(void);
};

/* --- perf-events.c: perf events that only count --- */

/*
 * Counts the event ATTR in the threads of the run's filters, and in those of the tool if these are
 * among them; may be called for several events.  NULL, or why it cannot.
 */
const char *plumb_witness_event(const struct plumb_run *run, struct perf_event_attr *attr,
				const char *filter);
/* The same of a tracepoint, of those events that FILTER (trace_event's) accepts; NULL: of all. */
const char *plumb_witness_tracepoint(const struct plumb_run *run, const char *category,
				     const char *name, const char *filter);
/* Whether they are of threads: once a thread is ending, no more of it are counted then. */
bool plumb_witness_is_of_threads(void);
/* As the members of struct plumb_witness. */
uint64_t plumb_witness_events(void);
uint64_t plumb_witness_own_events(void);

/* --- seen.c: what the programs have counted --- */

/* Calls that began. */
uint64_t plumb_witness_began(const struct plumb_run *run);
/* Those in rows, and those that ended and could not be. */
uint64_t plumb_witness_recorded(const struct plumb_run *run);
