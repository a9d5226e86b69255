/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * diff: whether calls got slower from one set of reports to another, by key and percentile.
 *
 * A change is A's percentile to B's, in per cent of A's, with a 95 % interval by bootstrap: both
 * sides are drawn anew 1000 times, each draw has a change, and the interval is the middle 95 % of
 * these.  The percentile of a draw is known as a bucket: the lower end of the interval takes the
 * lowest value of B's bucket and the highest one of A's, the upper end the other way round.  So it
 * also holds for the exact percentiles.
 *
 * A side of at least DIFF_LEAST_BLOCKS blocks of reports is drawn by blocks, since calls at the
 * same time are alike.  Of fewer, calls are drawn as if they were independent.
 */
#pragma once

#include "results/read.h"

#define DIFF_LEAST_BLOCKS 8

enum diff_verdict { DIFF_NONE, DIFF_SLOWER, DIFF_FASTER, DIFF_TOO_FEW };

struct diff_change {
	uint64_t before, after;   /* the percentiles */
	double low, change, high; /* per cent */
	enum diff_verdict verdict;
};

struct diff_side {
	const struct merged_row *row;
	size_t blocks; /* 0: calls are drawn */
};

/* The change of percentile P. */
struct diff_change diff_judge(const struct diff_side *before, const struct diff_side *after,
			      uint64_t p);

/* Compares BEFORE and AFTER and prints that.  Returns the exit status. */
int diff_print(const struct reading *before, const struct reading *after);
