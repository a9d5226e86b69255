/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "judge.h"
#include <math.h>
#include <stdlib.h>

static enum verdict verdict_of(const struct plumb_interval *change, double limit)
{
	if (change->low >= -limit && change->high <= limit)
		return UNBIASED;
	if (change->low > limit || change->high < -limit)
		return BIASED;
	return UNDECIDED;
}

/*
 * Estimate the number of pairs with which LIMIT is outside the interval.  An end of the interval
 * approaches the median with the square root of the number of pairs.
 */
static double pairs_to_clear(const struct plumb_interval *change, double limit, size_t n)
{
	double reach, margin = fabs(limit - change->median);

	if (limit < change->low || limit > change->high)
		return n;
	reach = limit < change->median ? change->median - change->low
				       : change->high - change->median;
	return n * (reach / margin) * (reach / margin);
}

static uint64_t more_pairs(const struct plumb_interval *change, double limit, size_t n)
{
	double above = pairs_to_clear(change, limit, n), below = pairs_to_clear(change, -limit, n);
	double more = (above > below ? above : below) - n;

	return more < JUDGE_MOST ? (uint64_t)more + 1 : JUDGE_MOST;
}

struct judgement judge(const double *without, const double *with, size_t n, double limit,
		       uint64_t seed)
{
	double *changes = calloc(n, sizeof(*changes));
	struct judgement j = {
		.without = plumb_median(without, n),
		.with = plumb_median(with, n),
	};

	if (!changes)
		abort();
	for (size_t i = 0; i < n; i++)
		changes[i] = (with[i] / without[i] - 1) * 100;
	j.change = plumb_bootstrap(changes, n, seed);
	free(changes);
	j.verdict = verdict_of(&j.change, limit);
	if (j.verdict == UNDECIDED)
		j.more = more_pairs(&j.change, limit, n);
	return j;
}
