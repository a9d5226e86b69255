/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * history: the distribution of all calls over time, in limited memory.
 *
 * A column holds what an interval recorded.  When all columns are in use, neighbours are merged, so
 * that columns cover twice the time: there are at least half of them, exact ones, for a run of any
 * length.  Later columns cover as many intervals as the merged ones, so that all but the last are
 * comparable.
 *
 * It has no rows: which of them are shown is known at the end only, so that all keys (256 by
 * default) would need columns from the start, some 1 MB each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <plumb/core/snapshot.h>

#define HISTORY_COLUMNS 400

struct history_column {
	uint64_t from, to; /* ns since the beginning of the run */
	struct plumb_dist dist;
};

struct plumb_history {
	struct history_column columns[HISTORY_COLUMNS];
	size_t n;
	uint64_t each, last; /* intervals in a column, 0 for 1; in the last one so far */
};

/* The histograms of all rows that stand for whole calls, added up.  0 or -ENOMEM. */
int plumb_history_sum(struct plumb_dist *sum, const struct plumb_snapshot *snap,
		      uint32_t precision);
/* Appends an interval of NS.  0 or -ENOMEM. */
int plumb_history_add(struct plumb_history *h, const struct plumb_snapshot *snap,
		      uint32_t precision, uint64_t ns);
void plumb_history_free(struct plumb_history *h);

/*
 * The axis of values: HISTORY_LINES lines per octave, or as many as there are buckets.  The edges
 * of lines are those of buckets.
 */
#define HISTORY_LINES 8

uint32_t plumb_line_of(uint32_t bucket, uint32_t precision);
uint64_t plumb_line_lowest(uint32_t line, uint32_t precision);
uint32_t plumb_lines_per_octave(uint32_t precision);
/* The place of VALUE in lines. */
double plumb_line_place(uint64_t value, uint32_t precision);
