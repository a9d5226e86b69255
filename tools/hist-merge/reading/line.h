/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * line: one report, read from a line of JSON (plumb/2).
 *
 * A line is read as a whole before any of it is merged: rows and buckets are collected here, in
 * memory that the next line uses again.  Spans point into the text of the line.
 */
#pragma once

#include "reading/ledger.h"
#include "reading/scan.h"
#include <plumb/core/percentile.h>

/* Measures of a row: its times or sizes, and second times of the same calls. */
enum { FIRST, SECOND, MEASURES };

struct line_measure {
	uint64_t sum, min, max, count;
	size_t bucket, n; /* in the line's buckets */
};

struct line_row {
	struct span key; /* an object */
	uint64_t count, errors;
	bool errors_unknown;
	bool is_stack;    /* of which several have a key */
	unsigned int has; /* measures: 1 << FIRST, 1 << SECOND */
	struct line_measure measures[MEASURES];
	/* For merge.c: what it is added to, if that is [other] for lack of rows; as an earlier one.
	 */
	struct merged_row *row;
	bool pooled, again;
};

/* A host of a report that hist-merge printed. */
struct line_host {
	struct span name;
	uint64_t reports, recorded, lost;
	bool lost_unknown;
};

struct line {
	struct span tool;
	struct span host;    /* of a report of hist-merge on one host, that one */
	struct span of;      /* the tool whose reports hist-merge had; of others the tool */
	struct span unit;    /* empty: the report does not say */
	struct span second;  /* the name of the second measure; empty: there is none */
	struct span run;     /* the id of its run; empty: the report does not say */
	uint64_t start, end; /* ns since 1970; if the clock was set back, the end may precede */
	uint64_t length;     /* ns, by the monotonic clock if the report has it */
	bool is_measured;    /* it has */
	uint64_t shift;      /* for hosts.c: both are later by this, since the clock was set back */
	uint64_t seq;
	bool final;
	bool is_partial; /* the next dump may have all of its interval */
	bool is_record;  /* no report: a tool printed a single call, and nothing else is set */
	uint32_t precision;
	struct ledger ledger;
	uint64_t count;        /* the sum of the rows' */
	uint64_t corrected;    /* sums of the rows that could not be */
	unsigned int measures; /* of each row, as its HAS */
	const char *rows_at;   /* if they precede the precision */
	struct line_row *rows;
	size_t n_rows, room_rows;
	struct plumb_bucket *buckets;
	size_t n_buckets, room_buckets;
	struct line_host *hosts;
	size_t n_hosts, room_hosts;
};

/* For line.c, in line-rows.c: the value of the member "rows"; the line's precision is known. */
bool line_rows_scan(struct scan *s, struct line *l);
/* TEXT ends with a NUL.  Returns NULL, or what is wrong at AT, an offset. */
const char *line_read(struct line *l, const char *text, size_t *at);
void line_free(struct line *l);
