// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ladder: its bounds, and what the buckets of a histogram count below them. */
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/percentile.h>
#include <plumb/outputs/ladder.h>

#include "unit.h"

static void default_of_times(void **state)
{
	struct plumb_ladder l;

	plumb_ladder_of_times(&l);
	check(l.n == 105, "26 octaves of 4, and one: %zu", l.n);
	check(l.bounds[0] == 1023 && l.bounds[1] == 1279 && l.bounds[4] == 2047, "4 an octave");
	check(l.bounds[l.n - 1] == (1ULL << 36) - 1, "to 68.7 s");
}

static void ranges(void **state)
{
	struct plumb_ladder l;

	check(!plumb_ladder_parse(&l, "1us:10s", false), "a range");
	check(l.bounds[0] <= 1000 && l.bounds[1] > 1000, "begins at LOW or before");
	check(l.bounds[l.n - 1] >= 10000000000 && l.bounds[l.n - 2] < 10000000000, "ends at HIGH");
	check(!plumb_ladder_parse(&l, "1ns:4398046511103ns", false) && l.n < PLUMB_MAX_BOUNDS,
	      "the whole range: %zu", l.n);
	check(!plumb_ladder_parse(&l, "512,4K", true) && l.n == 2 && l.bounds[1] == 4096, "sizes");
}

static void wrong_lists(void **state)
{
	static const char *const wrong[] = {
		"",    ":", "1us:", "1us:1us",     "2us:1us", "1us,",  "2us,1us", "1us,1us",
		"1:2", "x", "0us",  "1us:2us:3us", "2h",      "5000s", "1us,,2us"};
	struct plumb_ladder l;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		check(plumb_ladder_parse(&l, wrong[i], false) < 0, "refused: '%s'", wrong[i]);
}

/* A bucket is below a bound with all its values, or with none. */
static void buckets_do_not_straddle(void **state)
{
	struct plumb_ladder l;
	uint64_t low, high;

	plumb_ladder_fill(&l, 4, 1ULL << 41);
	for (uint32_t p = 2; p <= PLUMB_HIST_MAX_PRECISION; p++)
		for (uint32_t b = 0; b + 1 < plumb_hist_buckets(p); b++) {
			low = plumb_bucket_lowest(b, p);
			high = plumb_bucket_highest(b, p);
			/* A bucket that holds 3 and 4 at once is of no precision above 1. */
			check(plumb_ladder_index(&l, low) == plumb_ladder_index(&l, high),
			      "precision %u, %llu to %llu", p, (unsigned long long)low,
			      (unsigned long long)high);
		}
}

/* What a bound of one's own lacks is closer to it than the precision. */
static void own_bounds_lack_little(void **state)
{
	struct plumb_ladder l = {.bounds = {1000000}, .n = 1};
	uint64_t high;

	for (uint64_t v = 1000000 - 20000; v <= 1000000 + 20000; v++) {
		high = plumb_bucket_highest(plumb_hist_index(v, 6), 6);
		if (v > 1000000)
			check(plumb_ladder_index(&l, high) == 1, "never too many: %llu",
			      (unsigned long long)v);
		else if (plumb_ladder_index(&l, high) == 1)
			check((1000000 - v) * 64 < 1000000, "lacks %llu", (unsigned long long)v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_of_times),
		cmocka_unit_test(ranges),
		cmocka_unit_test(wrong_lists),
		cmocka_unit_test(buckets_do_not_straddle),
		cmocka_unit_test(own_bounds_lack_little),
	};

	return run_all(tests);
}
