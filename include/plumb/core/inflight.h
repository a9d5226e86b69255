/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inflight: the report of calls and sleeps in flight. */
#pragma once

#include <jansson.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct plumb_bpf;
struct plumb_frames;
struct plumb_report;
struct plumb_run;
struct plumb_state;

struct plumb_flight {
	uint64_t start; /* ns, CLOCK_MONOTONIC; 0: not known */
	uint64_t end;   /* 0: it has not ended; otherwise it has, and is not recorded yet */
	bool at_least;  /* start is an upper bound: the call may have begun earlier */
	bool before;    /* the call began before the trace */
	uint32_t pid, tid;
	uint64_t what;        /* the call, encoded by the tool */
	int32_t kernel, user; /* numbers of stacks, if the programs took any */
	bool hidden;          /* the kernel does not let this user see where the thread is */
	uint64_t runs;        /* how often the thread got a CPU, if its state is not conclusive */
	uint64_t own;         /* the tool's */
	const char *comm;     /* of PLUMB_COMM_LEN bytes; NULL: as /proc says now */
};

struct plumb_flights {
	struct plumb_flight *all; /* oldest first */
	size_t n;
	uint64_t began,
		taken;     /* ns, CLOCK_MONOTONIC: the start of the trace, the time of this list */
	bool searched;     /* all threads were inspected at least once */
	bool cut;          /* there was not enough time to inspect all threads */
	uint64_t hidden;   /* threads whose calls this user may not read */
	uint64_t unlisted; /* in flight by the final ledger, but not found in a state or stack */
};

/*
 * What the core does with the calls in flight of a tool that has plumb_tool.inflight.
 *
 * First FIND finds threads that are inside a call; the programs must be attached.  Then READ
 * determines since when, and adds the calls in the states.  IN_FLIGHT is the ledger's number of
 * calls in flight; if it is 0 and no thread was found, no states are read.  AT: ns,
 * CLOCK_MONOTONIC: the time of the list, of the last one the end of the trace, after which
 * detaching takes long.  FINAL: for the last report, with more time.
 */
struct plumb_in_flight {
	/* Keeps what it takes to find threads (privileges.h). */
	void (*keep)(const struct plumb_run *run);
	/* Before the maps are read. */
	void (*settle)(const struct plumb_bpf *bpf);
	void (*find)(const struct plumb_run *run, struct plumb_flights *f, bool final);
	void (*read)(const struct plumb_run *run, struct plumb_flights *f, uint64_t in_flight,
		     uint64_t at, bool final);
	void (*free)(struct plumb_flights *f);
	/* The list after a table; the age of the oldest, after their number; JSON. */
	void (*print)(const struct plumb_report *r, FILE *out);
	void (*print_oldest)(const struct plumb_report *r, FILE *out);
	void (*json)(json_t *json, const struct plumb_report *r);
};

/* Calls whose states the library reads: plumb_syscalls_inflight, plumb_functions_inflight. */
struct plumb_inflight_kind {
	/* As in struct plumb_inflight. */
	bool (*find)(const struct plumb_run *run, struct plumb_flight *f);
	void (*read)(const struct plumb_run *run, const struct plumb_state *state,
		     struct plumb_flights *to);
	void (*read_rest)(const struct plumb_run *run, struct plumb_flights *to);
	void (*name)(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		     size_t size);
	/* Add what else there is of a call: to its name in a table, and to its JSON; NULL: nothing.
	 */
	void (*add_text)(const struct plumb_flight *f, char *text, size_t size);
	void (*add_json)(const struct plumb_flight *f, json_t *json);
	/* Whether the mechanism traces such calls; NULL: each does. */
	bool (*is_traced)(const struct plumb_run *run);
	/* True if the programs keep no state with the age of a call; NULL: they always do. */
	bool (*is_ageless)(const struct plumb_run *run);
};

/* How a tool finds and describes the calls that its threads are in. */
struct plumb_inflight {
	const struct plumb_inflight_kind *kind; /* NULL: another one */
	const char *heading, *json; /* the name of plumb_flight.what: "CALL", "syscall" */
	/* Younger or older calls are not reported; NULL: all are. */
	const __u64 *min_ns, *max_ns;
	/* Sleeps, not calls: states are valid only as long as the programs are attached. */
	bool sleeps;
	/*
	 * What find() reads in /proc/PID/task/TID ("syscall", "stack"), which takes capabilities;
	 * NULL: /proc does not have such calls, and none from before the trace is found.
	 */
	const char *proc;
	/*
	 * Finds the traced call that the thread of F, which has no state, is in; false: none, or
	 * F->hidden is set.  NULL: as KIND does.
	 */
	bool (*find)(const struct plumb_run *run, struct plumb_flight *f);
	/*
	 * The struct that is the state of a thread, unless KIND is traced: it is in a call that
	 * began at the member start, or waits on its way out (the member ret, of sched/return.h).
	 * NULL: there are no such states.
	 */
	const char *state;
	/* Adds what the tool knows of F, a call found in STATE; NULL: nothing. */
	void (*describe)(const struct plumb_run *run, const struct plumb_state *state,
			 struct plumb_flight *f);
	/* Instead: adds the calls of the thread whose state is STATE. */
	void (*read)(const struct plumb_run *run, const struct plumb_state *state,
		     struct plumb_flights *to);
	/* Adds calls that are kept elsewhere; NULL: there are none, but of KIND. */
	void (*read_rest)(const struct plumb_run *run, struct plumb_flights *to);
	bool unledgered; /* also those that are in no ledger yet */
	/* Formats plumb_flight.what; NULL: as KIND does, or it is a number. */
	void (*name)(const struct plumb_run *run, const struct plumb_flight *f, char *text,
		     size_t size);
	bool stacks; /* those of the threads are reported, too, named by plumb_tool.stacking */
	/* What else there is of the first N, below the list, and in JSON; NULL: nothing. */
	void (*print)(const struct plumb_run *run, const struct plumb_flights *f, size_t n,
		      FILE *out);
	void (*add_json)(const struct plumb_run *run, const struct plumb_flights *f,
			 const struct plumb_flight *one, json_t *j);
};

/* ns that it has lasted; and of these, those in the trace. */
uint64_t plumb_flight_age(const struct plumb_flights *f, const struct plumb_flight *one);
uint64_t plumb_flight_traced(const struct plumb_flights *f, const struct plumb_flight *one);
/* The largest known age; 0: none is known. */
uint64_t plumb_flights_oldest(const struct plumb_flights *f);

/* As the members of struct plumb_in_flight. */
void plumb_flights_print(const struct plumb_report *r, FILE *out);
void plumb_flights_print_oldest(const struct plumb_report *r, FILE *out);
void plumb_flights_json(json_t *json, const struct plumb_report *r);
