/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "results/diff.h"
#include "reading/memory.h"
#include <math.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/user/bootstrap.h>

#define DRAWS 1000

/* An even number in (0, 1). */
static double uniform(uint64_t *random)
{
	return ((plumb_bootstrap_random(random) >> 11) + 0.5) / (1ULL << 53);
}

static double normal(uint64_t *random)
{
	double radius = sqrt(-2 * log(uniform(random)));

	return radius * cos(2 * M_PI * uniform(random));
}

/* Of the gamma distribution of SHAPE >= 1, by rejection (Marsaglia and Tsang). */
static double gamma_draw(double shape, uint64_t *random)
{
	double d = shape - 1. / 3, c = 1 / sqrt(9 * d), x, v;

	for (;;) {
		x = normal(random);
		v = 1 + c * x;
		v = v * v * v;
		if (v > 0 && log(uniform(random)) < x * x / 2 + d - d * v + d * log(v))
			return d * v;
	}
}

static const struct plumb_dist *dist_of(const struct diff_side *s)
{
	return &s->row->measures[FIRST].dist;
}

/* The bucket of the call at RANK, from 1. */
static size_t bucket_at(const struct plumb_dist *d, const uint64_t *counts, uint64_t rank)
{
	uint64_t seen = 0;
	size_t i = 0;

	for (; i + 1 < d->n; i++) {
		seen += counts ? counts[i] : d->buckets[i].count;
		if (seen >= rank)
			break;
	}
	return i;
}

/*
 * Draws calls: of N independent values, that at RANK of a new sample lies at a fraction of the old
 * one that has the beta distribution of RANK and N - RANK + 1.
 */
static size_t draw_calls(const struct diff_side *s, uint64_t p, uint64_t *random)
{
	uint64_t n = s->row->count, rank = plumb_rank(n, p);
	double x = gamma_draw(rank, random), y = gamma_draw(n - rank + 1, random);
	double at = ceil(x / (x + y) * n);

	return bucket_at(dist_of(s), NULL, at < 1 ? 1 : at > n ? n : (uint64_t)at);
}

/* Draws as many blocks as there are, with replacement.  -1: none of them has calls of the row. */
static long draw_blocks(const struct diff_side *s, uint64_t p, uint64_t *counts, uint64_t *random)
{
	uint64_t *const *of = s->row->measures[FIRST].blocks;
	const struct plumb_dist *d = dist_of(s);
	uint64_t times[MERGE_BLOCKS] = {0}, total = 0, sum;

	for (size_t b = 0; b < s->blocks; b++)
		times[plumb_bootstrap_random(random) % s->blocks]++;
	for (size_t i = 0; i < d->n; i++) {
		const uint64_t *block = of[d->buckets[i].index];

		sum = 0;
		for (size_t b = 0; b < MERGE_BLOCKS; b++)
			sum += times[b] * block[b];
		total += counts[i] = sum;
	}
	return total ? (long)bucket_at(d, counts, plumb_rank(total, p)) : -1;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double per_cent(double before, double after)
{
	/* Calls of 0 ns are as long as those of 1. */
	before = before < 1 ? 1 : before;
	after = after < 1 ? 1 : after;
	return (after / before - 1) * 100;
}

static uint64_t lowest(const struct plumb_dist *d, size_t i)
{
	uint64_t value = plumb_bucket_lowest(d->buckets[i].index, d->precision);

	return value > d->min ? value : d->min;
}

static long draw(const struct diff_side *s, uint64_t p, uint64_t *counts, uint64_t *random)
{
	return s->blocks ? draw_blocks(s, p, counts, random) : (long)draw_calls(s, p, random);
}

static size_t draw_all(const struct diff_side *a, const struct diff_side *b, uint64_t p,
		       double *lows, double *highs)
{
	const struct plumb_dist *da = dist_of(a), *db = dist_of(b);
	uint64_t random = 1, *counts = get(calloc(da->n + db->n, sizeof(*counts)));
	size_t n = 0;
	long i, j;

	for (size_t k = 0; k < DRAWS; k++) {
		i = draw(a, p, counts, &random);
		j = draw(b, p, counts, &random);
		if (i < 0 || j < 0)
			continue;
		lows[n] = per_cent(plumb_dist_highest(da, i), lowest(db, j));
		highs[n++] = per_cent(lowest(da, i), plumb_dist_highest(db, j));
	}
	free(counts);
	return n;
}

struct diff_change diff_judge(const struct diff_side *before, const struct diff_side *after,
			      uint64_t p)
{
	double lows[DRAWS], highs[DRAWS];
	struct diff_change c = {
		.before = plumb_percentile(dist_of(before), p),
		.after = plumb_percentile(dist_of(after), p),
	};
	size_t n = draw_all(before, after, p, lows, highs);

	c.change = per_cent(c.before, c.after);
	/* If many draws have no calls at all, the calls are in too few blocks. */
	if (n < DRAWS - DRAWS / 40 || plumb_percentile_is_weak(before->row->count, p) ||
	    plumb_percentile_is_weak(after->row->count, p)) {
		c.verdict = DIFF_TOO_FEW;
		return c;
	}
	qsort(lows, n, sizeof(*lows), rising);
	qsort(highs, n, sizeof(*highs), rising);
	c.low = lows[n / 40];
	c.high = highs[n - 1 - n / 40];
	c.verdict = c.low > 0 ? DIFF_SLOWER : c.high < 0 ? DIFF_FASTER : DIFF_NONE;
	return c;
}
