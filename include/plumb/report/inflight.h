/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inflight: the calls and sleeps that have not ended, as they are reported. */
#ifndef PLUMB_REPORT_INFLIGHT_H
#define PLUMB_REPORT_INFLIGHT_H

#include <jansson.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct plumb_frames;
struct plumb_report;
struct plumb_session;
struct plumb_state;

struct plumb_flight {
	uint64_t start; /* ns, CLOCK_MONOTONIC; 0: not known */
	bool at_least;  /* ... and it may have begun earlier */
	bool before;    /* ... than the trace, for certain */
	uint32_t pid, tid;
	uint64_t what;        /* which call: the tool's own word */
	int32_t kernel, user; /* numbers of stacks, if the programs took any */
	bool hidden;          /* the kernel does not let this user see where the thread is */
	uint64_t runs;        /* how often it has had a CPU, where a state is not proof enough */
};

struct plumb_flights {
	struct plumb_flight *all; /* oldest first */
	size_t n, room;
	uint64_t began,
		taken;     /* ns, CLOCK_MONOTONIC: the trace's beginning, and when this was so */
	bool searched;     /* all threads, at least once */
	bool cut;          /* there was no time to look at all of them */
	uint64_t hidden;   /* threads of which this user may not know where they are */
	uint64_t unlisted; /* that the ledger has at the end, and no state or stack shows */
};

/* What a tool says of what its threads are inside. */
struct plumb_inflight {
	const char *heading, *json; /* of what it is: "CALL", "syscall" */
	/* What is younger than that was not asked for; NULL: nothing. */
	const __u64 *min_ns;
	/* It is of sleeps, not of calls: states hold only as long as the programs are attached. */
	bool sleeps;
	/*
	 * Finds what the thread of F, which has no state, is inside; false: nothing that is traced,
	 * or F->hidden.
	 * NULL: the system does not tell.
	 */
	bool (*find)(const struct plumb_session *s, struct plumb_flight *f);
	/* Adds what the state STATE says that its thread is inside; NULL: there are no states. */
	void (*read)(const struct plumb_session *s, const struct plumb_state *state,
		     struct plumb_flights *to);
	/* ... and what is kept elsewhere; NULL: nothing is. */
	void (*read_rest)(const struct plumb_session *s, struct plumb_flights *to);
	/* Do the programs leave no state behind that tells how old a call is?  NULL: they do. */
	bool (*is_ageless)(const struct plumb_session *s);
	/* NULL: plumb_flight.what is a number. */
	void (*name)(const struct plumb_session *s, const struct plumb_flight *f, char *text,
		     size_t size);
	/* Where it is; NULL: no stacks are asked for. */
	void (*frames)(const struct plumb_session *s, const struct plumb_flight *f,
		       struct plumb_frames *frames);
};

/* Behind a table; in JSON. */
void plumb_flights_print(const struct plumb_report *r, FILE *out);
void plumb_flights_json(json_t *json, const struct plumb_report *r);

#endif
