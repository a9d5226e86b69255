/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * merge: rows of many reports, added up by key.
 *
 * Histograms are added bucket by bucket: nothing is estimated.  If reports differ in precision the
 * coarsest of them is that of the result; a bucket lies in exactly one bucket of a lower precision.
 *
 * Memory depends on the number of rows in the result, which is bounded, not on that of reports.
 */
#ifndef MERGE_H
#define MERGE_H

#include "reading/line.h"

#define MERGE_KEYS 48

/* With --diff, the reports of a row in so many blocks at most; a power of 2. */
#define MERGE_BLOCKS 64

struct merged {
	bool is_there;
	uint64_t sum, min, max;
	uint64_t *counts;  /* by bucket, of the merge's precision; NULL: none yet */
	uint64_t **blocks; /* by bucket, counts of MERGE_BLOCKS blocks; NULL: none */
};

struct merged_row {
	struct merged_row *next; /* in its chain of the table */
	uint64_t hash, window;
	char *key; /* an object, compact, its members sorted */
	uint64_t count, errors;
	bool errors_unknown; /* of one of the reports at least */
	struct merged measures[MEASURES];
};

struct merge_alias;

struct merge {
	/* Set by the caller: */
	const char *by[MERGE_KEYS]; /* keep these keys; none: all */
	size_t n_by;
	bool one;     /* keep none */
	bool by_host; /* BY has "host" */
	size_t max_rows;
	bool blocks;

	uint32_t precision;              /* 0: nothing is merged yet */
	uint32_t finest;                 /* of the reports */
	char *second;                    /* the name of the second measure */
	uint64_t count;                  /* of all rows */
	uint64_t pooled;                 /* of these, in [other] for lack of rows */
	uint64_t reports, block_reports; /* reports; how many a block has */
	struct merged_row **table;
	size_t slots, n;
	struct merge_alias *aliases;
};

/*
 * Adds the rows of a report; WINDOW: rows are apart by it.  Returns NULL, or why the report cannot
 * be added, and then adds nothing of it.
 */
const char *merge_add(struct merge *m, const struct line *l, uint64_t window);

/* The rows with windows before END, by window, then falling count; a malloc'd array. */
struct merged_row **merge_rows(const struct merge *m, uint64_t end, size_t *n);
/* Removes them. */
void merge_drop(struct merge *m, uint64_t end);
void merge_free(struct merge *m);
/* Forgets where rows are that may be gone; for merge_drop(). */
void merge_forget(struct merge *m);

/* The buckets of a measure, which the caller frees. */
struct plumb_dist merge_dist(const struct merge *m, const struct merged *of);
size_t merge_blocks(const struct merge *m);

#endif
