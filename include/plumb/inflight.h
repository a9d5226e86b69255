/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inflight: the calls and sleeps that have not ended, each with its thread and its age.
 *
 * Those that began in the trace are in the programs' states of threads.  A thread that has none has
 * not begun anything since the programs were attached: what /proc says that it is inside, it has
 * been inside since before.  That holds only while the programs are attached, so threads are looked
 * at then; the states are read when the trace has ended, and agree with the ledger.
 */
#ifndef PLUMB_INFLIGHT_H
#define PLUMB_INFLIGHT_H

#include <jansson.h>
#include <plumb/stacks.h>
#include <plumb/states.h>
#include <plumb/threads.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct plumb_report;

struct plumb_flight {
	uint64_t start; /* ns, CLOCK_MONOTONIC; 0: not known */
	bool at_least;  /* ... and it may have begun earlier */
	bool before;    /* ... than the trace, for certain */
	uint32_t pid, tid;
	uint64_t what;        /* which call: the tool's own word */
	int32_t kernel, user; /* numbers of stacks, if the programs took any */
	uint64_t runs;        /* how often it has had a CPU, where a state is not proof enough */
};

struct plumb_flights {
	struct plumb_flight *all; /* oldest first */
	size_t n, room;
	uint64_t began,
		taken; /* ns, CLOCK_MONOTONIC: the trace's beginning, and when this was so */
	bool looked;   /* at all threads, at least once */
	bool cut;      /* there was no time to look at all of them */
};

/* What a tool says of what its threads are inside. */
struct plumb_inflight {
	const char *heading, *json; /* of what it is: "CALL", "syscall" */
	/* What is younger than that was not asked for; NULL: nothing. */
	const __u64 *min_ns;
	/* It is of sleeps, not of calls: states hold only as long as the programs are attached. */
	bool sleeps;
	/*
	 * Is the thread F, which has no state, inside what is traced?  Fills in what that is.
	 * NULL: the system does not tell.
	 */
	bool (*look)(const struct plumb_session *s, struct plumb_flight *f);
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

void plumb_flights_add(struct plumb_flights *f, const struct plumb_flight *one);
void plumb_flights_free(struct plumb_flights *f);

/*
 * The two steps, for a tool that has plumb_tool.inflight: which threads are inside, which takes
 * programs that are attached; and, from then on or later, since when.  IN_FLIGHT is what the ledger
 * has: where that is 0, no states are read.
 */
void plumb_flights_look(const struct plumb_session *s, struct plumb_flights *f, bool final);
void plumb_flights_read(const struct plumb_session *s, struct plumb_flights *f, uint64_t in_flight,
			bool final);

/* As plumb_inflight.frames: what the programs took, or what the kernel says of a thread asleep. */
void plumb_flight_frames(const struct plumb_session *s, const struct plumb_flight *f,
			 struct plumb_frames *frames);

/* Behind a table; in JSON. */
void plumb_flights_print(const struct plumb_report *r, FILE *out);
void plumb_flights_json(json_t *json, const struct plumb_report *r);

/* What tools of system calls have in common; what SELECTION is about is the tool's. */
struct syscall_config;
bool plumb_flight_look_syscall(const struct syscall_config *selection, struct plumb_flight *f);
void plumb_flight_read_syscall(const struct plumb_session *s, const struct plumb_state *state,
			       struct plumb_flights *to);
void plumb_flight_name_syscall(const struct plumb_session *s, const struct plumb_flight *f,
			       char *text, size_t size);

/* And tools of kernel functions. */
bool plumb_flight_look_function(const struct plumb_session *s, struct plumb_flight *f);
void plumb_flight_read_function(const struct plumb_session *s, const struct plumb_state *state,
				struct plumb_flights *to);
bool plumb_flight_is_ageless(const struct plumb_session *s);
void plumb_flight_read_seats(const struct plumb_session *s, struct plumb_flights *to);
void plumb_flight_name_function(const struct plumb_session *s, const struct plumb_flight *f,
				char *text, size_t size);

#endif
