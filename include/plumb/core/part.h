/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * part: what a tool can do without, plugged into the core by one table, plumb_parts, in
 * tools/lib/parts.c.
 *
 * The core calls all parts, in the order of the table, and names none of them.  Each function may
 * be NULL.  What returns int returns 0, or -errno after a message: the first error ends the run.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/core/option.h>

struct bpf_program;
struct plumb_bpf;
struct plumb_field;
struct plumb_in_flight;
struct plumb_options;
struct plumb_report;
struct plumb_run;
struct plumb_snapshot;
struct plumb_table;
struct plumb_tool;

/* What an administrator demands (policy.h): without a part that obeys it nothing is traced. */
#define PLUMB_POLICY_FILE "/etc/plumb/policy"

struct plumb_part {
	const char *name;
	/* What has not ended (inflight.h); of one part. */
	const struct plumb_in_flight *in_flight;
	/* Keys of all tools, besides the common ones, ended by {}; NULL: none. */
	const struct plumb_field *fields;

	/* BPF programs, ended by NULL, of tools that include the part's header; attached in the
	 * order that it has, before the tool's own.  What they miss loses no event.  NULL: none. */
	const char *const *programs;

	/* --- the command line --- */

	const struct plumb_option *options; /* NULL: none */
	/*
	 * Whether TOOL has them, which is NULL for a program that does not trace by the core's
	 * loop; NULL: every tool that does has them.
	 */
	bool (*has)(const struct plumb_tool *tool);
	/*
	 * The command line is complete, and more than a check of it is asked for: the part that
	 * obeys the policy exits if PROGRAM may not run.
	 */
	void (*start)(const char *program);
	/* After all options, before and after the tool has judged its own.  Exits if they are
	 * wrong. */
	void (*complete)(struct plumb_options *o, const struct plumb_tool *tool);
	void (*check)(const struct plumb_options *o, const struct plumb_tool *tool);

	/* --- the run, in this order --- */

	/* Before filters are looked up and a BPF object is opened; may put one into the place of
	 * another. */
	int (*prepare)(struct plumb_options *o, const struct plumb_tool *tool);
	/* Before the command and the trace start: until it is time. */
	int (*wait)(struct plumb_run *run);
	/* A mechanism is tried; of run->instance that is all that is known. */
	void (*try)(struct plumb_run *run);
	/* A mechanism's object is opened, and not yet loaded. */
	void (*configure)(struct plumb_bpf *bpf);
	/* Whether P may be attached where its section says; its target's name in WHAT if not. */
	int (*allow)(const struct bpf_program *p, char *what, size_t size);
	/* The programs of a mechanism are loaded; they are attached. */
	void (*loaded)(struct plumb_run *run);
	void (*attached)(struct plumb_run *run);
	/* A mechanism has been chosen: opens files, allocates memory. */
	int (*open)(struct plumb_run *run);
	/* All parts are open: gives up what a trace does not need. */
	int (*confine)(struct plumb_run *run);
	/* The tool is confined, and the trace has begun. */
	void (*begin)(struct plumb_run *run);
	/* When the run ends by itself; 0: not known.  GRID: when it was to begin; both ns,
	 * CLOCK_MONOTONIC. */
	uint64_t (*ends_at)(uint64_t grid);
	/* Whether it is over NOW; lowers *AGAIN to when to ask again (0: never). */
	bool (*is_over)(uint64_t now, uint64_t *again);
	/* EARLY_NS after the beginning, if WANTS_EARLY says so. */
	uint64_t early_ns;
	bool (*wants_early)(const struct plumb_run *run);
	void (*early)(struct plumb_run *run);
	/* Whether what was traced may be reported. */
	int (*may_report)(void);
	/* An interval has ended; the last one is final. */
	int (*interval)(const struct plumb_report *r);
	/* A table is laid out and not yet printed to OUT. */
	void (*fit)(struct plumb_table *t, FILE *out);
	/* A line of the footer. */
	void (*footer)(const struct plumb_report *r, FILE *out);
	/* Adds to a report: lines below the rows to OUT, or, if that is NULL, members to JSON. */
	void (*add)(const struct plumb_report *r, FILE *out, json_t *json);
	/* Whether this part takes the interval in progress now.  ASKED: SIGUSR1 has come. */
	bool (*is_due)(bool asked);
	int (*progress)(const struct plumb_report *r);
	/* Why the run ends: HOW, or a signal with its CODE, as si_code; the first call counts. */
	void (*ends)(const char *how, int signal, int code);
	/* The trace is about to end; the programs still count. */
	int (*end)(void);
	void (*detached)(struct plumb_run *run);
	/* What the whole run has counted. */
	void (*total)(const struct plumb_snapshot *total);
	/* Whether what was counted is known to be incomplete: --strict ends with 3 then. */
	bool (*is_incomplete)(void);
	/* After the last report: messages about the whole run. */
	void (*finish)(const struct plumb_run *run, const struct plumb_snapshot *total);
	/* After the last interval, also if the run has failed. */
	int (*close)(void);
	/* The process ends, whether there was a run or not. */
	void (*leave)(void);
};

/* Ended by NULL. */
extern const struct plumb_part *const plumb_parts[];

/* Each calls the function of that name of all parts. */
void plumb_parts_start(const char *program);
void plumb_parts_complete(struct plumb_options *o, const struct plumb_tool *tool);
void plumb_parts_check(const struct plumb_options *o, const struct plumb_tool *tool);
int plumb_parts_prepare(struct plumb_options *o, const struct plumb_tool *tool);
int plumb_parts_wait(struct plumb_run *run);
void plumb_parts_try(struct plumb_run *run);
void plumb_parts_configure(struct plumb_bpf *bpf);
int plumb_parts_allow(const struct bpf_program *p, char *what, size_t size);
void plumb_parts_loaded(struct plumb_run *run);
void plumb_parts_attached(struct plumb_run *run);
int plumb_parts_open(struct plumb_run *run);
int plumb_parts_confine(struct plumb_run *run);
void plumb_parts_begin(struct plumb_run *run);
/* The soonest; 0: none is known. */
uint64_t plumb_parts_end_at(uint64_t grid);
bool plumb_parts_are_over(uint64_t now, uint64_t *again);
int plumb_parts_may_report(void);
int plumb_parts_interval(const struct plumb_report *r);
void plumb_parts_fit(struct plumb_table *t, FILE *out);
void plumb_parts_footer(const struct plumb_report *r, FILE *out);
void plumb_parts_add(const struct plumb_report *r, FILE *out, json_t *json);
bool plumb_parts_are_due(bool asked);
int plumb_parts_progress(const struct plumb_report *r);
void plumb_parts_ended(const char *how);
void plumb_parts_ended_by(int signal, int code);
int plumb_parts_end(void);
void plumb_parts_detached(struct plumb_run *run);
void plumb_parts_total(const struct plumb_snapshot *total);
int plumb_parts_close(void);
bool plumb_parts_are_incomplete(void);
void plumb_parts_finish(const struct plumb_run *run, const struct plumb_snapshot *total);
void plumb_parts_leave(void);
/* Whether a part brings the BPF program of this name. */
bool plumb_parts_have_program(const char *name);
/* Of the part that has it, if TOOL lists what has not ended; else NULL. */
const struct plumb_in_flight *plumb_parts_in_flight(const struct plumb_tool *tool);
/* The part that wants to be called early; NULL: none. */
const struct plumb_part *plumb_parts_early(const struct plumb_run *run);
