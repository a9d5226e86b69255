/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* read: reads reports from all sources and merges them. */
#pragma once

#include "merging/hosts.h"
#include "merging/merge.h"
#include "merging/options.h"
#include "merging/seen.h"
#include "reading/source.h"
#include "merging/times.h"
#include <plumb/bpf/hist/hist.h>

struct reading {
	const struct options *options;
	struct merge merge;
	struct hosts hosts;
	struct seen seen;
	struct times times;
	char *tool;           /* whose reports are merged; NULL: none so far */
	uint64_t from, to;    /* the first start and the last end of reports, ns since 1970 */
	uint64_t left_out;    /* lines that cannot be merged */
	uint64_t unread;      /* files that cannot be read, with --keep-going */
	uint64_t passed_over; /* lines of other tools */
	uint64_t repeated;    /* reports that were read before */
	bool has_stages;      /* a call is in several rows */
	uint64_t moved;       /* reports, since the clock was set back */
	uint64_t records;     /* lines that are single calls */
	uint64_t of_precision[PLUMB_HIST_MAX_PRECISION + 1]; /* reports */
	uint64_t printed; /* with --every: windows before this one are printed */
	uint64_t results; /* printed so far */
};

/* One result; with --every of one window. */
struct result {
	const struct reading *reading;
	struct merged_row **rows;
	size_t n;
	uint64_t start, end;
	uint64_t reports; /* that started in this time, or so far */
	bool has_data;    /* a report is of this time */
	uint64_t seq;
	bool final;
};

void reading_begin(struct reading *r, const struct options *o);
/*
 * Reads FILES and passes each result to EACH: with --every as soon as it is complete.  Returns 0 or
 * -errno after a message; EACH's errors end it.  Without EACH nothing is passed.
 */
int reading_run(struct reading *r, char *const *files, size_t n,
		int (*each)(const struct result *result));
void reading_end(struct reading *r);

/* Reports of a higher precision than the result. */
uint64_t reading_coarsened(const struct reading *r);

/* Calls that the ledgers have and the rows have not; below 0: that the rows have twice. */
int64_t reading_unaccounted(const struct reading *r);

/* Whether sizes are in the first measure, bytes. */
bool reading_is_of_sizes(const struct reading *r);
