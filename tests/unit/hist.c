// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* hist.h and its inverse: the index, the bucket's bounds, and the bound that hist.h derives. */
#include "unit.h"
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/percentile.h>

#define RANGE (1ULL << PLUMB_HIST_RANGE_BITS)
#define for_each_precision(p)                                                                      \
	for (uint32_t p = PLUMB_HIST_MIN_PRECISION; p <= PLUMB_HIST_MAX_PRECISION; p++)

/* The definition in hist.h, by division and not by shifts. */
static uint32_t index_by_definition(uint64_t v, uint32_t p)
{
	uint64_t width = 1, octaves = 0;

	while (v / width >= 2ULL << p) {
		width *= 2;
		octaves++;
	}
	return octaves * (1ULL << p) + v / width;
}

static void bucket_count_is_as_documented(void **state)
{
	assert_int_equal(plumb_hist_buckets(PLUMB_HIST_PRECISION) * sizeof(uint64_t), 18952);
	for_each_precision(p)
		assert_int_equal(plumb_hist_buckets(p), index_by_definition(RANGE - 1, p) + 2);
}

static void boundaries_round_trip_at_every_precision(void **state)
{
	for_each_precision(p)
	{
		for (uint32_t i = 0; i < plumb_hist_buckets(p); i++) {
			uint64_t lowest = plumb_bucket_lowest(i, p),
				 highest = plumb_bucket_highest(i, p);

			check(plumb_hist_index(lowest, p) == i,
			      "precision %u, bucket %u, lowest %lu", p, i, lowest);
			check(plumb_hist_index(highest, p) == i,
			      "precision %u, bucket %u, highest %lu", p, i, highest);
			check(lowest <= highest, "precision %u, bucket %u", p, i);
		}
	}
}

static void buckets_adjoin_from_0_to_the_end(void **state)
{
	for_each_precision(p)
	{
		uint32_t saturated = plumb_hist_buckets(p) - 1;

		assert_int_equal(plumb_bucket_lowest(0, p), 0);
		for (uint32_t i = 1; i <= saturated; i++)
			check(plumb_bucket_lowest(i, p) == plumb_bucket_highest(i - 1, p) + 1,
			      "precision %u, bucket %u", p, i);
		assert_int_equal(plumb_bucket_highest(saturated - 1, p), RANGE - 1);
		assert_int_equal(plumb_bucket_lowest(saturated, p), RANGE);
		assert_int_equal(plumb_bucket_highest(saturated, p), UINT64_MAX);
	}
}

/* (highest - v) / v < 1 / 2^p for all v of a bucket: it is largest for the lowest. */
static void error_is_below_the_bound_in_every_bucket(void **state)
{
	for_each_precision(p)
	{
		for (uint32_t i = 0; i + 1 < plumb_hist_buckets(p); i++) {
			uint64_t lowest = plumb_bucket_lowest(i, p),
				 highest = plumb_bucket_highest(i, p);

			check(highest == lowest || (highest - lowest) << p < lowest,
			      "precision %u, bucket %u: %lu to %lu", p, i, lowest, highest);
		}
	}
}

/* highest - lowest = 2^s - 1 and lowest >= 2^(p+s) wherever s > 0. */
static void widths_are_as_derived(void **state)
{
	for_each_precision(p)
	{
		for (uint32_t i = 0; i + 1 < plumb_hist_buckets(p); i++) {
			uint64_t lowest = plumb_bucket_lowest(i, p), s = 0;

			while (lowest >> s >= 2ULL << p)
				s++;
			check(plumb_bucket_highest(i, p) - lowest == (1ULL << s) - 1,
			      "precision %u, bucket %u", p, i);
			check(!s || lowest >= 1ULL << (p + s), "precision %u, bucket %u", p, i);
		}
	}
}

static void index_is_its_definition(void **state)
{
	uint64_t seed = 20240229, v;

	for_each_precision(p)
	{
		for (uint64_t small = 0; small < 1 << 13; small++)
			check(plumb_hist_index(small, p) == index_by_definition(small, p),
			      "%lu at %u", small, p);
		for (int i = 0; i < 20000; i++) {
			v = next_random(&seed) >>
			    (64 - PLUMB_HIST_RANGE_BITS + i % PLUMB_HIST_RANGE_BITS);
			check(plumb_hist_index(v, p) == index_by_definition(v, p), "%lu at %u", v,
			      p);
		}
	}
}

static void powers_of_two_open_a_bucket(void **state)
{
	for_each_precision(p)
	{
		for (uint32_t e = 0; e < 64; e++) {
			uint64_t v = 1ULL << e;

			/* Each power of two opens a bucket, up to the saturated one. */
			check(plumb_hist_index(v, p) - plumb_hist_index(v - 1, p) == (v <= RANGE),
			      "2^%u at %u", e, p);
		}
	}
}

static void known_values_have_their_known_buckets(void **state)
{
	/* At precision 6 the octave of shift s begins at (s + 1) * 64. */
	assert_int_equal(plumb_hist_index(0, 6), 0);
	assert_int_equal(plumb_hist_index(1, 6), 1);
	assert_int_equal(plumb_hist_index(127, 6), 127);
	assert_int_equal(plumb_hist_index(128, 6), 128);
	assert_int_equal(plumb_hist_index(129, 6), 128);
	assert_int_equal(plumb_hist_index(130, 6), 129);
	assert_int_equal(plumb_hist_index((1ULL << 31) - 1, 6), 26 * 64 - 1);
	assert_int_equal(plumb_hist_index(1ULL << 31, 6), 26 * 64);
	assert_int_equal(plumb_hist_index((1ULL << 32) - 1, 6), 27 * 64 - 1);
	assert_int_equal(plumb_hist_index(1ULL << 32, 6), 27 * 64);
	assert_int_equal(plumb_hist_index(RANGE - 1, 6), 37 * 64 - 1);
	assert_int_equal(plumb_hist_index(RANGE, 6), 37 * 64);
	assert_int_equal(plumb_hist_index(UINT64_MAX, 6), 37 * 64);
	assert_int_equal(plumb_bucket_lowest(26 * 64, 6), 1ULL << 31);
	assert_int_equal(plumb_bucket_highest(26 * 64, 6), (1ULL << 31) + (1ULL << 25) - 1);
}

static void all_beyond_the_range_is_saturated(void **state)
{
	static const uint64_t beyond[] = {RANGE,      RANGE + 1,      2 * RANGE - 1, 2 * RANGE,
					  1ULL << 63, UINT64_MAX - 1, UINT64_MAX};

	for_each_precision(p)
	{
		for (size_t i = 0; i < LENGTH(beyond); i++)
			assert_int_equal(plumb_hist_index(beyond[i], p), plumb_hist_buckets(p) - 1);
		assert_int_equal(plumb_hist_index(RANGE - 1, p), plumb_hist_buckets(p) - 2);
	}
}

static void log2_is_exact_around_powers_of_two(void **state)
{
	assert_int_equal(plumb_log2(0), 0);
	assert_int_equal(plumb_log2(1), 0);
	for (uint32_t e = 1; e < 64; e++) {
		assert_int_equal(plumb_log2((1ULL << e) - 1), e - 1);
		assert_int_equal(plumb_log2(1ULL << e), e);
		assert_int_equal(plumb_log2((1ULL << e) + 1), e);
	}
	assert_int_equal(plumb_log2(UINT64_MAX), 63);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket_count_is_as_documented),
		cmocka_unit_test(boundaries_round_trip_at_every_precision),
		cmocka_unit_test(buckets_adjoin_from_0_to_the_end),
		cmocka_unit_test(error_is_below_the_bound_in_every_bucket),
		cmocka_unit_test(widths_are_as_derived),
		cmocka_unit_test(index_is_its_definition),
		cmocka_unit_test(powers_of_two_open_a_bucket),
		cmocka_unit_test(known_values_have_their_known_buckets),
		cmocka_unit_test(all_beyond_the_range_is_saturated),
		cmocka_unit_test(log2_is_exact_around_powers_of_two),
	};

	return run_all(tests);
}
