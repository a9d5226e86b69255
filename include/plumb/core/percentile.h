/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * percentile: the non-empty buckets of a histogram, and its percentiles.
 *
 * A percentile is found by nearest rank: the smallest recorded value such that
 * at least p % of all values are not above it.  The result is the highest value
 * of its bucket, or the exact maximum if that is lower: it is never too low, and too high by less
 * than 1/2^precision (hist.h).  Beyond the histogram's range it is the exact maximum.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Percentiles are integers, in millionths of a percent: ranks are exact. */
#define PLUMB_PERCENT (1000000ULL)

struct plumb_bucket {
	uint32_t index;
	uint64_t count;
};

/* Non-empty buckets by ascending index.  Times in ns; min and max are exact. */
struct plumb_dist {
	struct plumb_bucket *buckets;
	size_t n;
	uint32_t precision;
	uint64_t min, max;
};

/* Lowest and highest value of a bucket; the highest of the saturated bucket is UINT64_MAX. */
uint64_t plumb_bucket_lowest(uint32_t index, uint32_t precision);
uint64_t plumb_bucket_highest(uint32_t index, uint32_t precision);

/* The highest value that bucket I, one of d->n, can have. */
uint64_t plumb_dist_highest(const struct plumb_dist *d, size_t i);

/* The number of values. */
uint64_t plumb_dist_count(const struct plumb_dist *d);

/* The number of values beyond the range. */
uint64_t plumb_dist_saturated(const struct plumb_dist *d);

/* The nearest rank, from 1, of p in (0, 100 * PLUMB_PERCENT] among COUNT values. */
uint64_t plumb_rank(uint64_t count, uint64_t p);

/* p in (0, 100 * PLUMB_PERCENT]; 0 for an empty distribution. */
uint64_t plumb_percentile(const struct plumb_dist *d, uint64_t p);

/* True for fewer than 1/(1-p) values: less than one is expected above the percentile. */
bool plumb_percentile_is_weak(uint64_t count, uint64_t p);

/*
 * Copies the non-empty buckets of DENSE[0..n), which must not change meanwhile, to *buckets
 * (malloc'd, owned by the caller).  Returns their number or -ENOMEM.
 */
long plumb_buckets_pack(const uint64_t *dense, size_t n, struct plumb_bucket **buckets);

/* Adds the values of FROM to D; 0 or -ENOMEM. */
int plumb_dist_add(struct plumb_dist *d, const struct plumb_dist *from);

/* Subtracts the counts of OLDER, an earlier state of the same histogram, from D. */
void plumb_dist_subtract(struct plumb_dist *d, const struct plumb_dist *older);
