/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* percentile: random data, their distributions, and what percentiles of them have to be. */
#pragma once

#include "unit.h"
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/percentile.h>

#define RANGE (1ULL << PLUMB_HIST_RANGE_BITS)
#define WHOLE (100 * PLUMB_PERCENT)
#define MOST  60000

static const uint64_t asked[] = {
	1, /* 0.000001 % */
	2,
	PLUMB_PERCENT / 2,
	PLUMB_PERCENT,
	10 * PLUMB_PERCENT,
	25 * PLUMB_PERCENT,
	33333333,
	50 * PLUMB_PERCENT - 1,
	50 * PLUMB_PERCENT,
	50 * PLUMB_PERCENT + 1,
	66666667,
	75 * PLUMB_PERCENT,
	90 * PLUMB_PERCENT,
	95 * PLUMB_PERCENT,
	99 * PLUMB_PERCENT,
	99900000,
	99990000,
	99999000,
	99999900,
	99999990,
	99999999,
	WHOLE,
};

static uint64_t data[MOST];
static uint64_t dense[(PLUMB_HIST_RANGE_BITS + 1) << PLUMB_HIST_MAX_PRECISION];

static int rising(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The distribution of VALUES, as the tools come by it. */
static struct plumb_dist dist_of(const uint64_t *values, size_t n, uint32_t precision)
{
	struct plumb_dist d = {.precision = precision, .min = UINT64_MAX};
	long used;

	memset(dense, 0, sizeof(dense));
	for (size_t i = 0; i < n; i++) {
		dense[plumb_hist_index(values[i], precision)]++;
		d.min = values[i] < d.min ? values[i] : d.min;
		d.max = values[i] > d.max ? values[i] : d.max;
	}
	used = plumb_buckets_pack(dense, plumb_hist_buckets(precision), &d.buckets);
	assert_true(used >= 0);
	d.n = used;
	return d;
}

/* The smallest rank r with r / n >= p: found by halving, not by dividing. */
static uint64_t nearest_rank(uint64_t n, uint64_t p)
{
	uint64_t low = 1, high = n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if ((unsigned __int128)middle * WHOLE >= (unsigned __int128)n * p)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void compare_one(const char *what, const struct plumb_dist *d, uint64_t exact, uint64_t p)
{
	uint64_t said = plumb_percentile(d, p);
	uint64_t highest =
		plumb_bucket_highest(plumb_hist_index(exact, d->precision), d->precision);

	check(said >= exact, "%s, precision %u, p %lu: low: %lu for %lu", what, d->precision, p,
	      said, exact);
	check(said <= d->max, "%s, precision %u, p %lu: %lu above the maximum", what, d->precision,
	      p, said);
	check(exact >= RANGE || said == exact ||
		      (unsigned __int128)(said - exact) << d->precision < exact,
	      "%s, precision %u, p %lu: beyond the bound: %lu for %lu", what, d->precision, p, said,
	      exact);
	check(said == (highest < d->max ? highest : d->max), "%s, precision %u, p %lu: %lu for %lu",
	      what, d->precision, p, said, exact);
}

/* --- random --- */

static uint64_t uniform(uint64_t *seed)
{
	return next_random(seed) % 1000000;
}

/* Each octave as likely as any other, some of them out of range. */
static uint64_t log_uniform(uint64_t *seed)
{
	uint64_t bits = next_random(seed) % 44;

	return next_random(seed) >> (63 - bits);
}

/* The sum of dice is nearly normal. */
static uint64_t nearly_normal(uint64_t *seed)
{
	uint64_t sum = 0;

	for (int i = 0; i < 12; i++)
		sum += next_random(seed) % 1000;
	return sum + 20000;
}

/* 1/u: half of all below 2 us, one in a million above a second (Pareto's, of exponent 1). */
static uint64_t heavy_tailed(uint64_t *seed)
{
	return 1000 * (1ULL << 32) / (1 + (next_random(seed) >> 32));
}

/* A fast path and a slow one, as system calls have. */
static uint64_t two_humps(uint64_t *seed)
{
	return next_random(seed) % 100 ? 300 + next_random(seed) % 40
				       : 9000000 + next_random(seed) % 3000000;
}
