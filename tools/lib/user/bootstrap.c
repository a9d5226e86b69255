/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/user/bootstrap.h>

/* The bounds of an interval have 2 to 3 % of the draws beyond them; more take longer at each start.
 */
#define DRAWS 2000

/* Vigna's SplitMix64 (public domain, https://prng.di.unimi.it/splitmix64.c). */
uint64_t plumb_bootstrap_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value at RANK of a draw that took each of the sorted values so many TIMES. */
static double at_rank(const double *sorted, const size_t *times, size_t rank)
{
	size_t i = 0;

	for (size_t below = times[0]; below <= rank; below += times[i])
		i++;
	return sorted[i];
}

static double median_of_draw(const double *sorted, size_t *times, size_t n, uint64_t *random)
{
	memset(times, 0, n * sizeof(*times));
	for (size_t i = 0; i < n; i++)
		times[(plumb_bootstrap_random(random) >> 32) * n >> 32]++; /* no division */
	return (at_rank(sorted, times, (n - 1) / 2) + at_rank(sorted, times, n / 2)) / 2;
}

double plumb_median(const double *values, size_t n)
{
	double *sorted = plumb_zeroed(n, sizeof(*sorted)), median;

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), rising);
	median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	free(sorted);
	return median;
}

struct plumb_interval plumb_bootstrap(const double *values, size_t n, uint64_t seed)
{
	double *sorted = plumb_zeroed(n, sizeof(*sorted)),
	       *medians = plumb_zeroed(DRAWS, sizeof(*medians));
	size_t *times = plumb_zeroed(n, sizeof(*times));
	struct plumb_interval of;

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), rising);
	for (size_t d = 0; d < DRAWS; d++)
		medians[d] = median_of_draw(sorted, times, n, &seed);
	qsort(medians, DRAWS, sizeof(*medians), rising);
	of.low = medians[DRAWS / 40];
	of.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
	of.high = medians[DRAWS - 1 - DRAWS / 40];
	free(sorted);
	free(medians);
	free(times);
	return of;
}

struct plumb_interval plumb_interval_added(const struct plumb_interval *with,
					   const struct plumb_interval *before,
					   const struct plumb_interval *after)
{
	return (struct plumb_interval){
		.low = with->low - (before->high > after->high ? before->high : after->high),
		.median = with->median - (before->median + after->median) / 2,
		.high = with->high - (before->low < after->low ? before->low : after->low),
	};
}
