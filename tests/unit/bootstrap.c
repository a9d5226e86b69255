// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* bootstrap: intervals, against medians that are known. */
#include "unit.h"
#include <plumb/user/bootstrap.h>

#define SAMPLES 500
#define MOST    30

static const uint64_t some_seed = 88172645463325252;

/* In (0, 1). */
static double uniform(uint64_t *seed)
{
	return ((next_random(seed) >> 11) + 0.5) / (1ULL << 53);
}

/* Pareto's, of exponent 1: it has no mean, half of it is below 2. */
static double heavy_tailed(uint64_t *seed)
{
	return 1 / uniform(seed);
}

/* A fast path, and in four of ten calls a slow one: half of it is below 1 + 5/6. */
static double two_peaks(uint64_t *seed)
{
	bool slow = uniform(seed) < 0.4;

	return (slow ? 10 : 1) + uniform(seed);
}

static void the_interval_holds_the_median_19_times_of_20(void **state)
{
	static const struct {
		double (*draw)(uint64_t *);
		double median;
	} kinds[] = {{uniform, 0.5}, {heavy_tailed, 2}, {two_peaks, 1 + 5. / 6}};
	static const size_t sizes[] = {5, 10, 16, MOST};
	double values[MOST];
	uint64_t seed = some_seed;

	for (size_t k = 0; k < LENGTH(kinds); k++) {
		for (size_t s = 0; s < LENGTH(sizes); s++) {
			size_t n = sizes[s], held = 0;

			for (uint64_t i = 0; i < SAMPLES; i++) {
				struct plumb_interval of;

				for (size_t v = 0; v < n; v++)
					values[v] = kinds[k].draw(&seed);
				of = plumb_bootstrap(values, n, i);
				held += of.low <= kinds[k].median && kinds[k].median <= of.high;
			}
			/* Few values give few intervals to choose from: some miss a little. */
			check(held >= SAMPLES * 90 / 100 && held <= SAMPLES * 98 / 100,
			      "distribution %zu, %zu values: %zu of %d", k, n, held, SAMPLES);
		}
	}
}

static void more_values_narrow_it(void **state)
{
	double values[1000], few = 0, many = 0;
	uint64_t seed = some_seed;

	for (uint64_t i = 0; i < 20; i++) {
		struct plumb_interval of;

		for (size_t v = 0; v < LENGTH(values); v++)
			values[v] = uniform(&seed);
		of = plumb_bootstrap(values, 10, i);
		few += of.high - of.low;
		of = plumb_bootstrap(values, LENGTH(values), i);
		many += of.high - of.low;
	}
	/* By the root of the number: ten times. */
	check(few > 6 * many && few < 15 * many, "%f of 10, %f of 1000", few, many);
}

static void an_interval_is_in_its_order_and_within_its_values(void **state)
{
	double values[MOST];
	uint64_t seed = some_seed;

	for (size_t n = 1; n <= MOST; n++) {
		double least = 1e300, most = 0;
		struct plumb_interval of;

		for (size_t v = 0; v < n; v++) {
			values[v] = heavy_tailed(&seed);
			least = values[v] < least ? values[v] : least;
			most = values[v] > most ? values[v] : most;
		}
		of = plumb_bootstrap(values, n, n);
		check(least <= of.low && of.low <= of.median && of.median <= of.high &&
			      of.high <= most,
		      "%zu values: %f, %f, %f of %f to %f", n, of.low, of.median, of.high, least,
		      most);
	}
}

static void one_value_is_its_own_interval(void **state)
{
	const double value = -3.5;
	struct plumb_interval of = plumb_bootstrap(&value, 1, 7);

	assert_true(of.low == -3.5 && of.median == -3.5 && of.high == -3.5);
}

static void two_values_are_theirs(void **state)
{
	const double values[] = {8, 2};
	struct plumb_interval of = plumb_bootstrap(values, 2, 7);

	assert_true(of.low == 2 && of.median == 5 && of.high == 8);
}

static void equal_values_leave_no_doubt(void **state)
{
	const double values[] = {4, 4, 4, 4, 4, 4};
	struct plumb_interval of = plumb_bootstrap(values, LENGTH(values), 7);

	assert_true(of.low == 4 && of.median == 4 && of.high == 4);
}

static void the_median_is_of_the_values_in_any_order(void **state)
{
	const double odd[] = {9, 1, 5, 3, 7}, even[] = {4, 1, 3, 2};

	assert_true(plumb_bootstrap(odd, 5, 1).median == 5);
	assert_true(plumb_bootstrap(even, 4, 1).median == 2.5);
	assert_true(plumb_median(odd, 5) == 5 && plumb_median(even, 4) == 2.5);
	assert_true(odd[0] == 9 && odd[4] == 7);
}

static void a_seed_repeats_its_draws(void **state)
{
	double values[MOST];
	uint64_t seed = some_seed;
	size_t differ = 0;

	for (size_t i = 0; i < MOST; i++)
		values[i] = heavy_tailed(&seed);
	for (uint64_t s = 0; s < 20; s++) {
		struct plumb_interval a = plumb_bootstrap(values, MOST, s);
		struct plumb_interval again = plumb_bootstrap(values, MOST, s);
		struct plumb_interval b = plumb_bootstrap(values, MOST, s + 100);

		assert_memory_equal(&a, &again, sizeof(a));
		differ += a.low != b.low || a.high != b.high;
	}
	assert_true(differ > 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_holds_the_median_19_times_of_20),
		cmocka_unit_test(more_values_narrow_it),
		cmocka_unit_test(an_interval_is_in_its_order_and_within_its_values),
		cmocka_unit_test(one_value_is_its_own_interval),
		cmocka_unit_test(two_values_are_theirs),
		cmocka_unit_test(equal_values_leave_no_doubt),
		cmocka_unit_test(the_median_is_of_the_values_in_any_order),
		cmocka_unit_test(a_seed_repeats_its_draws),
	};

	return run_all(tests);
}
