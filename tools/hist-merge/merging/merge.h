/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * merge: rows of many reports, added up by key.
 *
 * Histograms are added bucket by bucket: nothing is estimated.  If reports differ in precision the
 * coarsest of them is that of the result; a bucket lies in exactly one bucket of a lower precision.
 *
 * Memory depends on the number of rows in the result, which is bounded, not on that of reports.
 */
#pragma once

#include "reading/line.h"

#define MERGE_KEYS 64

/* With --diff, the reports of a row in so many blocks at most; a power of 2. */
#define MERGE_BLOCKS 64

struct merged {
	uint64_t sum;
	uint64_t *counts;       /* by bucket, of the merge's precision; NULL: none yet */
	uint64_t **blocks;      /* by bucket, counts of MERGE_BLOCKS blocks; NULL: none */
	struct plumb_dist dist; /* minimum and maximum; after merge_rows(), the buckets */
};

struct merged_row {
	uint64_t window;
	char *key; /* an object, compact, its members sorted */
	uint64_t count, errors;
	bool errors_unknown; /* of one of the reports at least */
	struct merged measures[MEASURES];
	double order; /* for results.c: higher values come first */
};

/* Which keys are kept. */
struct merge_by {
	const char *keys[MERGE_KEYS]; /* none: all */
	size_t n;
	bool none, host; /* keep no key; KEYS has "host" */
};

struct merge {
	/* Set by the caller: */
	struct merge_by by;
	size_t max_rows;
	bool blocks;

	uint32_t precision;              /* 0: nothing is merged yet */
	uint32_t finest;                 /* of the reports */
	unsigned int some, lacked;       /* measures that reports have; that some lack */
	char *second;                    /* the name of the second measure */
	uint64_t count;                  /* of all rows */
	uint64_t pooled;                 /* of these, in [other] for lack of rows */
	uint64_t corrected;              /* sums of rows that could not be */
	uint64_t again;                  /* rows whose key another one of the report has */
	uint64_t reports, block_reports; /* reports; how many a block has */
	uint64_t lines;                  /* also those that were refused */
	void *rows, *aliases;            /* trees of search.h */
	size_t n, alias_bytes;
};

/*
 * Adds the rows of a report; WINDOW: rows are apart by it.  Returns NULL, or why the report cannot
 * be added, and then adds nothing of it.
 */
const char *merge_add(struct merge *m, const struct line *l, uint64_t window);

/* Whether the rows have the measure: all reports do. */
bool merge_has(const struct merge *m, int measure);

/*
 * The rows with windows before END that have calls, by window and key, with the buckets of their
 * measures; a malloc'd array.
 */
struct merged_row **merge_rows(const struct merge *m, uint64_t end, size_t *n);
/* All rows with windows before END. */
struct merged_row **merge_all(const struct merge *m, uint64_t end, size_t *n);
/* Removes them. */
void merge_drop(struct merge *m, uint64_t end);
void merge_free(struct merge *m);
/* Forgets where rows are that may be gone; for merge_drop(). */
void merge_forget(struct merge *m);
/* The order of rows by window and key, of tsearch(). */
int merge_order(const void *a, const void *b);

size_t merge_blocks(const struct merge *m);
