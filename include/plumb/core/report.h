/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report: prints a snapshot as a table, histograms or JSON on stdout. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <plumb/core/run.h>
#include <plumb/core/snapshot.h>
#include <plumb/core/text.h>
#include <plumb/core/verdict.h>

struct plumb_flights;

struct plumb_report {
	const struct plumb_run *run;
	struct plumb_snapshot *snap; /* of the interval, or of the whole run */
	struct timespec start;
	uint64_t elapsed; /* ns that the rows cover */
	uint64_t seq;     /* from 1 */
	bool final;       /* the last one of the run */
	/* Of the whole run, also in an interval's report: */
	const struct plumb_snapshot *total;
	const struct plumb_flights *flights; /* calls in flight */
	/* Of an interval that was kept: what was found when it ended; NULL: it is found now. */
	const struct plumb_verdict *verdict;
	json_t *own;  /* what plumb_report_add_own() added */
	json_t *dump; /* the member "dump"; NULL: none */
};

/* Sorts the rows by --sort, highest first; by default, and what is equal, most calls first. */
void plumb_report_sort(struct plumb_report *r);
/* Prints and flushes; 0 or -errno (-EPIPE if the reader has closed the output). */
int plumb_report_print(struct plumb_report *r);

/* Checks --sort and --columns, or lists columns; exits if they are wrong, or the tool's own are. */
void plumb_report_check_columns(const struct plumb_tool *tool, const struct plumb_options *o);

/* The parts of plumb_report_print(). */
void plumb_report_table(const struct plumb_report *r, FILE *out);
/* The time that precedes the report of an interval. */
void plumb_report_time(const struct plumb_report *r, FILE *out);
/* The footer after the last table; and its ledger in a few words, for an output without a footer.
 */
void plumb_report_footer(const struct plumb_report *r, FILE *out);
void plumb_report_ledger(const struct plumb_report *r, FILE *out);
void plumb_report_histogram(const struct plumb_row *row, enum plumb_unit unit, FILE *out);
/* One object, without the rows that a tool prints itself (view.rows_json); and as a line. */
json_t *plumb_report_object(const struct plumb_report *r);
int plumb_report_json(const struct plumb_report *r, FILE *out);
/* Adds the members of the tool's own: those of its files, and of view.report_json(). */
void plumb_report_add_own(json_t *json, const struct plumb_report *r);
/* Whether calls of the row that failed are told: not of a function without a result. */
bool plumb_row_counts_errors(const struct plumb_tool *tool, const struct plumb_row *row);
/* Calls of the row per second. */
double plumb_row_rate(const struct plumb_report *r, const struct plumb_row *row);
json_t *plumb_json_key(const struct plumb_run *run, const struct plumb_row *row);
