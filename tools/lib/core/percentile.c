/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/percentile.h>

/* The inverse of plumb_hist_index(): octave s >= 1 starts at index (s + 1) << p. */
static uint32_t bucket_shift(uint32_t index, uint32_t precision)
{
	return index >> precision ? (index >> precision) - 1 : 0;
}

static bool is_saturated(uint32_t index, uint32_t precision)
{
	return index == plumb_hist_buckets(precision) - 1;
}

uint64_t plumb_bucket_lowest(uint32_t index, uint32_t precision)
{
	uint32_t s = bucket_shift(index, precision);

	return (uint64_t)(index - (s << precision)) << s;
}

uint64_t plumb_bucket_highest(uint32_t index, uint32_t precision)
{
	if (is_saturated(index, precision))
		return UINT64_MAX;
	return plumb_bucket_lowest(index, precision) + (1ULL << bucket_shift(index, precision)) - 1;
}

uint64_t plumb_dist_count(const struct plumb_dist *d)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->n; i++)
		sum += d->buckets[i].count;
	return sum;
}

uint64_t plumb_dist_saturated(const struct plumb_dist *d)
{
	const struct plumb_bucket *last = d->n ? &d->buckets[d->n - 1] : NULL;

	return last && is_saturated(last->index, d->precision) ? last->count : 0;
}

uint64_t plumb_dist_highest(const struct plumb_dist *d, size_t i)
{
	uint64_t highest = plumb_bucket_highest(d->buckets[i].index, d->precision);

	return highest < d->max ? highest : d->max;
}

uint64_t plumb_rank(uint64_t count, uint64_t p)
{
	const unsigned __int128 whole = 100 * PLUMB_PERCENT;

	return ((unsigned __int128)count * p + whole - 1) / whole;
}

uint64_t plumb_percentile(const struct plumb_dist *d, uint64_t p)
{
	uint64_t rank = plumb_rank(plumb_dist_count(d), p), seen = 0;

	for (size_t i = 0; i < d->n; i++) {
		seen += d->buckets[i].count;
		if (seen >= rank)
			return plumb_dist_highest(d, i);
	}
	return 0;
}

bool plumb_percentile_is_weak(uint64_t count, uint64_t p)
{
	const unsigned __int128 whole = 100 * PLUMB_PERCENT;

	/* 100 is the exact maximum, for any number of calls. */
	return p < whole && count * (whole - p) < whole;
}

long plumb_buckets_pack(const uint64_t *dense, size_t n, struct plumb_bucket **buckets)
{
	struct plumb_bucket *out;
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += dense[i] != 0;
	*buckets = out = calloc(used ?: 1, sizeof(*out));
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (dense[i])
			*out++ = (struct plumb_bucket){i, dense[i]};
	return used;
}

int plumb_dist_add(struct plumb_dist *d, const struct plumb_dist *from)
{
	struct plumb_bucket *all = calloc(d->n + from->n ?: 1, sizeof(*all));
	const struct plumb_bucket *next;
	size_t i = 0, j = 0, n = 0;

	if (!all)
		return -ENOMEM;
	while (i < d->n || j < from->n) {
		if (j == from->n || (i < d->n && d->buckets[i].index <= from->buckets[j].index))
			next = &d->buckets[i++];
		else
			next = &from->buckets[j++];
		if (n && all[n - 1].index == next->index)
			all[n - 1].count += next->count;
		else
			all[n++] = *next;
	}
	free(d->buckets);
	d->buckets = all;
	d->n = n;
	d->min = from->min < d->min ? from->min : d->min;
	d->max = from->max > d->max ? from->max : d->max;
	return 0;
}

/*
 * Sets minimum and maximum after a subtraction: those of the whole run if they are in the outermost
 * remaining buckets, otherwise the bounds of these buckets.
 */
static void bound_extremes(struct plumb_dist *d)
{
	uint64_t lowest, highest;

	if (!d->n)
		return;
	lowest = plumb_bucket_lowest(d->buckets[0].index, d->precision);
	highest = plumb_bucket_highest(d->buckets[d->n - 1].index, d->precision);
	if (d->min < lowest)
		d->min = lowest;
	if (d->max > highest)
		d->max = highest;
}

void plumb_dist_subtract(struct plumb_dist *d, const struct plumb_dist *older)
{
	size_t kept = 0, j = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct plumb_bucket b = d->buckets[i];

		while (j < older->n && older->buckets[j].index < b.index)
			j++;
		if (j < older->n && older->buckets[j].index == b.index)
			b.count -= b.count < older->buckets[j].count ? b.count
								     : older->buckets[j].count;
		if (b.count)
			d->buckets[kept++] = b;
	}
	d->n = kept;
	bound_extremes(d);
}
