// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* percentile: what buckets say, against the sorted data that they were made of. */
#include "percentile.h"

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

	for (size_t i = 0; i < LENGTH(alone); i++) {
		data[0] = alone[i];
		compare("one value", data, 1);
	}
}

static void equal_values_are_clamped_to_the_maximum(void **state)
{
	static const size_t sizes[] = {2, 7, 1000, 1009};
	struct plumb_dist d;

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
	for (size_t n = 2; n <= 1001; n += 111)
		for (size_t low = 1; low < n; low += n / 2 + 1) {
			for (size_t i = 0; i < n; i++)
				data[i] = i < low ? 1 : RANGE - 1;
			compare("two values", data, n);
		}
}

static void values_on_the_boundaries_of_buckets(void **state)
{
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
	};

	return run_all(tests);
}
