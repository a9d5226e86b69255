// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* percentile: what buckets say, against the sorted data that they were made of. */
#include "unit.h"
#include <errno.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/measure/percentile.h>

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

/* Sorts VALUES, and compares all percentiles at all precisions. */
static void compare(const char *what, uint64_t *values, size_t n)
{
	struct plumb_dist d;

	qsort(values, n, sizeof(*values), rising);
	for (uint32_t precision = PLUMB_HIST_MIN_PRECISION; precision <= PLUMB_HIST_MAX_PRECISION;
	     precision++) {
		d = dist_of(values, n, precision);
		check(plumb_dist_count(&d) == n, "%s, precision %u", what, precision);
		for (size_t i = 0; i < LENGTH(asked); i++)
			compare_one(what, &d, values[nearest_rank(n, asked[i]) - 1], asked[i]);
		check(plumb_percentile(&d, WHOLE) == values[n - 1],
		      "%s, precision %u: 100 is the maximum", what, precision);
		free(d.buckets);
	}
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

static void random_data_at_all_precisions(void **state)
{
	static const struct {
		const char *name;
		uint64_t (*draw)(uint64_t *seed);
	} kinds[] = {
		{"uniform", uniform},
		{"log-uniform", log_uniform},
		{"nearly normal", nearly_normal},
		{"heavy-tailed", heavy_tailed},
		{"two humps", two_humps},
	};
	static const size_t sizes[] = {2, 3, 23, 100, 1009, MOST};
	uint64_t seed = 88172645463325252;

	(void)state;
	for (size_t k = 0; k < LENGTH(kinds); k++)
		for (size_t s = 0; s < LENGTH(sizes); s++) {
			for (size_t i = 0; i < sizes[s]; i++)
				data[i] = kinds[k].draw(&seed);
			compare(kinds[k].name, data, sizes[s]);
		}
}

/* --- adversarial --- */

static void one_value_is_every_percentile(void **state)
{
	static const uint64_t alone[] = {0,       1,         127,   128,           129,
					 1000003, RANGE - 1, RANGE, RANGE + 12345, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < LENGTH(alone); i++) {
		data[0] = alone[i];
		compare("one value", data, 1);
	}
}

static void equal_values_are_clamped_to_the_maximum(void **state)
{
	static const size_t sizes[] = {2, 7, 1000, 1009};
	struct plumb_dist d;

	(void)state;
	for (size_t s = 0; s < LENGTH(sizes); s++) {
		for (size_t i = 0; i < sizes[s]; i++)
			data[i] = 1000003; /* in the midst of a bucket, whose highest value it must
					      not be */
		compare("all equal", data, sizes[s]);
		d = dist_of(data, sizes[s], 1);
		for (size_t i = 0; i < LENGTH(asked); i++)
			assert_int_equal(plumb_percentile(&d, asked[i]), 1000003);
		free(d.buckets);
	}
}

static void two_values_far_apart(void **state)
{
	(void)state;
	for (size_t n = 2; n <= 1001; n += 111)
		for (size_t low = 1; low < n; low += n / 2 + 1) {
			for (size_t i = 0; i < n; i++)
				data[i] = i < low ? 1 : RANGE - 1;
			compare("two values", data, n);
		}
}

static void values_on_the_boundaries_of_buckets(void **state)
{
	(void)state;
	for (uint32_t precision = PLUMB_HIST_MIN_PRECISION; precision <= PLUMB_HIST_MAX_PRECISION;
	     precision++) {
		size_t n = 0, step = plumb_hist_buckets(precision) / 500 + 1;

		for (uint32_t i = 0; i + 1 < plumb_hist_buckets(precision); i += step) {
			data[n++] = plumb_bucket_lowest(i, precision);
			data[n++] = plumb_bucket_highest(i, precision);
		}
		compare("boundaries", data, n);
	}
}

/* Where a percentile comes to have a value above it: n = 1/(1-p), and its neighbours. */
static void around_one_over_one_minus_p(void **state)
{
	static const struct {
		uint64_t p;
		size_t n;
	} edges[] = {{50 * PLUMB_PERCENT, 2},   {90 * PLUMB_PERCENT, 10}, {95 * PLUMB_PERCENT, 20},
		     {99 * PLUMB_PERCENT, 100}, {99900000, 1000},         {99990000, 10000}};
	struct plumb_dist d;

	(void)state;
	for (size_t e = 0; e < LENGTH(edges); e++)
		for (size_t n = edges[e].n - 1; n <= edges[e].n + 1; n++) {
			for (size_t i = 0; i < n; i++)
				data[i] = i + 1 < n ? i + 1 : 100 * n;
			compare("edge", data, n);
			d = dist_of(data, n, PLUMB_HIST_MAX_PRECISION);
			/* Below the edge the largest value is the percentile, from there on it is
			 * not. */
			check((plumb_percentile(&d, edges[e].p) == d.max) == (n < edges[e].n),
			      "p %lu of %zu", edges[e].p, n);
			free(d.buckets);
		}
}

static void beyond_the_range_the_maximum_is_told(void **state)
{
	struct plumb_dist d;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		data[i] = i < 90 ? 1000 : RANGE + i;
	compare("saturated", data, 100);
	d = dist_of(data, 100, 6);
	assert_int_equal(plumb_dist_saturated(&d), 10);
	assert_int_equal(plumb_percentile(&d, 90 * PLUMB_PERCENT),
			 plumb_bucket_highest(plumb_hist_index(1000, 6), 6));
	assert_int_equal(plumb_percentile(&d, 90 * PLUMB_PERCENT + 1), RANGE + 99);
	free(d.buckets);
	data[0] = RANGE - 1;
	d = dist_of(data, 1, 6);
	assert_int_equal(plumb_dist_saturated(&d), 0);
	free(d.buckets);
}

/* --- counts that no list could hold --- */

static void counts_near_2_to_the_63(void **state)
{
	struct plumb_bucket buckets[] = {
		{plumb_hist_index(100, 6), (1ULL << 62) + 1},
		{plumb_hist_index(70000, 6), (1ULL << 62) - 3},
		{plumb_hist_index(5000000, 6), 1},
	};
	struct plumb_dist d = {
		.buckets = buckets, .n = 3, .precision = 6, .min = 100, .max = 5000000};
	uint64_t n = plumb_dist_count(&d), rank, highest;

	(void)state;
	assert_int_equal(n, (1ULL << 63) - 1);
	for (size_t i = 0; i < LENGTH(asked); i++) {
		rank = nearest_rank(n, asked[i]);
		highest = plumb_bucket_highest(buckets[rank <= buckets[0].count ? 0
						       : rank < n               ? 1
										: 2]
						       .index,
					       6);
		check(plumb_percentile(&d, asked[i]) == (highest < d.max ? highest : d.max),
		      "p %lu", asked[i]);
	}
	/* The rank of 50 is (2^63 - 1) / 2 rounded up, 2^62: still in the first bucket. */
	assert_int_equal(plumb_percentile(&d, 50 * PLUMB_PERCENT),
			 plumb_bucket_highest(buckets[0].index, 6));
	buckets[0].count -= 2;
	buckets[1].count += 2;
	assert_int_equal(plumb_percentile(&d, 50 * PLUMB_PERCENT),
			 plumb_bucket_highest(buckets[1].index, 6));
}

static void nothing_recorded_is_0(void **state)
{
	struct plumb_dist d = {.precision = 6};

	(void)state;
	assert_int_equal(plumb_dist_count(&d), 0);
	assert_int_equal(plumb_dist_saturated(&d), 0);
	for (size_t i = 0; i < LENGTH(asked); i++)
		assert_int_equal(plumb_percentile(&d, asked[i]), 0);
}

/* --- too few --- */

static void fewer_than_one_over_one_minus_p_is_weak(void **state)
{
	static const struct {
		uint64_t p, enough;
	} rules[] = {{50 * PLUMB_PERCENT, 2},
		     {75 * PLUMB_PERCENT, 4},
		     {90 * PLUMB_PERCENT, 10},
		     {99 * PLUMB_PERCENT, 100},
		     {99900000, 1000},
		     {99990000, 10000},
		     {99999999, WHOLE},
		     {66666667, 4 /* a hair above 2/3 */},
		     {66666666, 3},
		     {1, 2}};

	(void)state;
	for (size_t i = 0; i < LENGTH(rules); i++) {
		check(plumb_percentile_is_weak(rules[i].enough - 1, rules[i].p), "p %lu",
		      rules[i].p);
		check(!plumb_percentile_is_weak(rules[i].enough, rules[i].p), "p %lu", rules[i].p);
		check(!plumb_percentile_is_weak(rules[i].enough + 1, rules[i].p), "p %lu",
		      rules[i].p);
		check(plumb_percentile_is_weak(0, rules[i].p), "p %lu", rules[i].p);
		check(!plumb_percentile_is_weak(UINT64_MAX, rules[i].p), "p %lu", rules[i].p);
	}
}

/* --- buckets --- */

static void packing_keeps_what_is_not_empty(void **state)
{
	const uint64_t sparse[] = {0, 7, 0, 0, 1, UINT64_MAX, 0}, empty[5] = {0};
	struct plumb_bucket *buckets;

	(void)state;
	assert_int_equal(plumb_buckets_pack(sparse, LENGTH(sparse), &buckets), 3);
	assert_int_equal(buckets[0].index, 1);
	assert_int_equal(buckets[0].count, 7);
	assert_int_equal(buckets[1].index, 4);
	assert_int_equal(buckets[1].count, 1);
	assert_int_equal(buckets[2].index, 5);
	assert_int_equal(buckets[2].count, UINT64_MAX);
	free(buckets);
	buckets = NULL;
	assert_int_equal(plumb_buckets_pack(empty, LENGTH(empty), &buckets), 0);
	assert_non_null(buckets);
	free(buckets);
	assert_int_equal(plumb_buckets_pack(NULL, 0, &buckets), 0);
	free(buckets);
}

static void assert_same_counts(const struct plumb_dist *a, const struct plumb_dist *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_int_equal(a->buckets[i].index, b->buckets[i].index);
		assert_int_equal(a->buckets[i].count, b->buckets[i].count);
	}
}

/* Buckets add up: of shards, of hosts. */
static void shards_sum_to_the_whole(void **state)
{
	enum { SHARDS = 7, N = 20011, P = 6 };
	static uint64_t sum[sizeof(dense) / sizeof(dense[0])];
	struct plumb_dist whole, merged = {.precision = P, .min = UINT64_MAX}, shard;
	uint64_t seed = 4711, part[N];
	size_t n;

	(void)state;
	for (size_t i = 0; i < N; i++)
		data[i] = log_uniform(&seed);
	memset(sum, 0, sizeof(sum));
	for (size_t s = 0; s < SHARDS; s++) {
		n = 0;
		for (size_t i = s; i < N; i += SHARDS)
			part[n++] = data[i];
		shard = dist_of(part, n, P);
		for (size_t i = 0; i < shard.n; i++)
			sum[shard.buckets[i].index] += shard.buckets[i].count;
		merged.min = shard.min < merged.min ? shard.min : merged.min;
		merged.max = shard.max > merged.max ? shard.max : merged.max;
		free(shard.buckets);
	}
	merged.n = plumb_buckets_pack(sum, plumb_hist_buckets(P), &merged.buckets);
	whole = dist_of(data, N, P);
	assert_same_counts(&merged, &whole);
	for (size_t i = 0; i < LENGTH(asked); i++)
		assert_int_equal(plumb_percentile(&merged, asked[i]),
				 plumb_percentile(&whole, asked[i]));
	free(merged.buckets);
	free(whole.buckets);
}

/* --- differences --- */

/* Data of BEFORE, then of AFTER more: what the difference says of the latter. */
static void subtract_and_compare(uint64_t (*earlier)(uint64_t *), size_t before,
				 uint64_t (*later)(uint64_t *), size_t after, uint64_t seed)
{
	struct plumb_dist older, d, exact;
	uint64_t *rest = data + before, least, most;

	for (size_t i = 0; i < before; i++)
		data[i] = earlier(&seed);
	for (size_t i = 0; i < after; i++)
		rest[i] = later(&seed);
	older = dist_of(data, before, 6);
	d = dist_of(data, before + after, 6);
	exact = dist_of(rest, after, 6);
	plumb_dist_subtract(&d, &older);
	assert_same_counts(&d, &exact);
	qsort(rest, after, sizeof(*rest), rising);
	if (after) {
		least = rest[0];
		most = rest[after - 1];
		/* The extremes are those of the interval or, where only the whole run's are known,
		 * in their bucket. */
		check(d.min <= least && plumb_hist_index(d.min, 6) == plumb_hist_index(least, 6),
		      "%lu for %lu", d.min, least);
		check(d.max >= most && plumb_hist_index(d.max, 6) == plumb_hist_index(most, 6),
		      "%lu for %lu", d.max, most);
		for (size_t i = 0; i < LENGTH(asked); i++)
			compare_one("difference", &d, rest[nearest_rank(after, asked[i]) - 1],
				    asked[i]);
	}
	free(older.buckets);
	free(d.buckets);
	free(exact.buckets);
}

static void differences_are_what_came_between(void **state)
{
	(void)state;
	subtract_and_compare(uniform, 5000, uniform, 5000, 1);
	subtract_and_compare(heavy_tailed, 1009, two_humps, 23, 2);
	subtract_and_compare(two_humps, 23, heavy_tailed, 1009, 3);
	subtract_and_compare(log_uniform, 20011, log_uniform, 1, 4);
	subtract_and_compare(nearly_normal, 0, nearly_normal, 1000, 5);
	subtract_and_compare(nearly_normal, 1000, nearly_normal, 0, 6);
}

static void difference_of_equals_is_empty(void **state)
{
	struct plumb_dist d, same;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		data[i] = i * i;
	d = dist_of(data, 100, 6);
	same = dist_of(data, 100, 6);
	plumb_dist_subtract(&d, &same);
	assert_int_equal(d.n, 0);
	assert_int_equal(plumb_percentile(&d, 50 * PLUMB_PERCENT), 0);
	free(d.buckets);
	free(same.buckets);
}

static void extremes_of_a_difference_are_bounded_by_its_buckets(void **state)
{
	struct plumb_dist d, older;

	(void)state;
	/* Before: 10 and a million. Since: two of 5001. The run's extremes are not the interval's.
	 */
	data[0] = 10;
	data[1] = 1000000;
	data[2] = data[3] = 5001;
	older = dist_of(data, 2, 6);
	d = dist_of(data, 4, 6);
	plumb_dist_subtract(&d, &older);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.buckets[0].count, 2);
	assert_int_equal(d.min, 4992); /* 78 * 64: of [4992, 5055] */
	assert_int_equal(d.max, 5055);
	free(older.buckets);
	free(d.buckets);
	/* The run's maximum came since: it is exact. */
	data[0] = 10;
	data[1] = 5001;
	older = dist_of(data, 1, 6);
	d = dist_of(data, 2, 6);
	plumb_dist_subtract(&d, &older);
	assert_int_equal(d.max, 5001);
	assert_int_equal(d.min, 4992);
	free(older.buckets);
	free(d.buckets);
	/* And beyond the range only the run's maximum is known. */
	data[0] = RANGE + 7;
	data[1] = RANGE + 5;
	older = dist_of(data, 1, 6);
	d = dist_of(data, 2, 6);
	plumb_dist_subtract(&d, &older);
	assert_int_equal(d.min, RANGE + 5);
	assert_int_equal(d.max, RANGE + 7);
	free(older.buckets);
	free(d.buckets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_data_at_all_precisions),
		cmocka_unit_test(one_value_is_every_percentile),
		cmocka_unit_test(equal_values_are_clamped_to_the_maximum),
		cmocka_unit_test(two_values_far_apart),
		cmocka_unit_test(values_on_the_boundaries_of_buckets),
		cmocka_unit_test(around_one_over_one_minus_p),
		cmocka_unit_test(beyond_the_range_the_maximum_is_told),
		cmocka_unit_test(counts_near_2_to_the_63),
		cmocka_unit_test(nothing_recorded_is_0),
		cmocka_unit_test(fewer_than_one_over_one_minus_p_is_weak),
		cmocka_unit_test(packing_keeps_what_is_not_empty),
		cmocka_unit_test(shards_sum_to_the_whole),
		cmocka_unit_test(differences_are_what_came_between),
		cmocka_unit_test(difference_of_equals_is_empty),
		cmocka_unit_test(extremes_of_a_difference_are_bounded_by_its_buckets),
	};

	return run_all(tests);
}
