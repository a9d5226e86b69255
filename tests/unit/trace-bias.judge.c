// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trace-bias: verdicts on differences that are known. */
#include "unit.h"
#include "judge.h"

#define PAIRS 10
#define SEEDS 400

/* 1000, give or take NOISE percent, evenly; PERCENT more where it is traced. */
static double value(double percent, double noise, uint64_t *seed)
{
	double even = (double)(next_random(seed) >> 11) / (1ULL << 53); /* [0, 1) */

	return (1000 + percent * 10) * (1 + noise / 100 * (2 * even - 1));
}

static struct judgement judged(double percent, double noise, size_t n, uint64_t *seed)
{
	double without[1000], with[1000];

	for (size_t i = 0; i < n; i++) {
		without[i] = value(0, noise, seed);
		with[i] = value(percent, noise, seed);
	}
	return judge(without, with, n, 5, *seed);
}

static void tally(double percent, double noise, size_t verdicts[3], size_t *held)
{
	uint64_t seed = 88172645463325252;

	memset(verdicts, 0, 3 * sizeof(*verdicts));
	*held = 0;
	for (int i = 0; i < SEEDS; i++) {
		struct judgement j = judged(percent, noise, PAIRS, &seed);

		verdicts[j.verdict]++;
		*held += j.change.low <= percent && percent <= j.change.high;
	}
}

/* Of each known change, all seeds: never the opposite, and with little noise always the truth. */
static void a_known_change_is_called_what_it_is(void **state)
{
	static const struct {
		double percent, noise;
		enum verdict truth;
		size_t least;
	} known[] = {
		{20, 3, BIASED, SEEDS},
		{-20, 3, BIASED, SEEDS},
		{0, 3, UNBIASED, SEEDS * 98 / 100},
		{1, 1, UNBIASED, SEEDS},
		{20, 10, BIASED, SEEDS * 90 / 100},
		{0, 10, UNBIASED, 0},
	};

	for (size_t i = 0; i < LENGTH(known); i++) {
		enum verdict opposite = known[i].truth == BIASED ? UNBIASED : BIASED;
		size_t verdicts[3], held;

		tally(known[i].percent, known[i].noise, verdicts, &held);
		check(!verdicts[opposite] && verdicts[known[i].truth] >= known[i].least,
		      "%+.0f %% in noise of %.0f %%: %zu unbiased, %zu undecided, %zu biased",
		      known[i].percent, known[i].noise, verdicts[UNBIASED], verdicts[UNDECIDED],
		      verdicts[BIASED]);
		check(held >= SEEDS * 90 / 100, "%+.0f %% is in %zu of %d intervals",
		      known[i].percent, held, SEEDS);
	}
}

/* At the limit itself a verdict is a mistake: in either direction one of 40, and some more. */
static void a_change_at_the_limit_is_left_undecided(void **state)
{
	size_t verdicts[3], held;

	tally(5, 3, verdicts, &held);
	check(verdicts[UNDECIDED] >= SEEDS * 90 / 100 && verdicts[UNDECIDED] < SEEDS,
	      "%zu unbiased, %zu undecided, %zu biased", verdicts[UNBIASED], verdicts[UNDECIDED],
	      verdicts[BIASED]);
}

static void as_many_more_as_it_says_decide(void **state)
{
	size_t undecided = 0, decided = 0;
	uint64_t seed = 88172645463325252;

	for (int i = 0; i < SEEDS; i++) {
		struct judgement j = judged(2, 10, PAIRS, &seed);

		if (j.verdict != UNDECIDED || j.more > 200)
			continue;
		undecided++;
		decided += judged(2, 10, PAIRS + 2 * j.more, &seed).verdict != UNDECIDED;
	}
	/* It is an estimate from ten pairs: of twice as many, most. */
	check(undecided > 50 && decided > undecided * 6 / 10, "%zu of %zu are decided", decided,
	      undecided);
}

static void how_many_more_is_by_the_root(void **state)
{
	/* All changes are +1 % or +9 %: the interval is that, around 5, which is the limit. */
	static const double without[] = {100, 100, 100, 100, 100, 100};
	static const double at_limit[] = {101, 109, 101, 109, 101, 109};
	/* From 0 to 8 %, 2 % in the middle: the upper end has to come to half its distance. */
	static const double near[] = {100, 100, 102, 102, 108, 108};
	struct judgement j = judge(without, at_limit, 6, 5, 1);

	assert_int_equal(j.verdict, UNDECIDED);
	assert_int_equal(j.more, JUDGE_MOST);
	j = judge(without, near, 6, 5, 1);
	assert_int_equal(j.verdict, UNDECIDED);
	check(j.change.high > 7.99 && j.change.median > 1.99 && j.change.median < 2.01, "%f to %f",
	      j.change.low, j.change.high);
	/* (6 / 3)^2 = 4 times as many. */
	check(j.more == 18 || j.more == 19, "%lu", j.more);
}

static void bounds_belong_to_the_verdict(void **state)
{
	static const double without[] = {100, 100, 100, 100, 100};
	static const double five[] = {105, 105, 105, 105, 105};
	static const double less[] = {94, 94, 94, 94, 94};

	assert_int_equal(judge(without, five, 5, 5.001, 1).verdict, UNBIASED);
	assert_int_equal(judge(without, five, 5, 4.999, 1).verdict, BIASED);
	assert_int_equal(judge(without, less, 5, 6.001, 1).verdict, UNBIASED);
	assert_int_equal(judge(without, less, 5, 5.999, 1).verdict, BIASED);
	assert_int_equal(judge(without, without, 5, 0.000001, 1).verdict, UNBIASED);
}

static void pairs_are_compared_not_runs(void **state)
{
	/* A machine that slows down: each pair differs by a tenth, runs by ten times. */
	static const double without[] = {100, 200, 400, 800, 1000};
	static const double with[] = {110, 220, 440, 880, 1100};
	struct judgement j = judge(without, with, 5, 5, 1);

	assert_int_equal(j.verdict, BIASED);
	check(j.change.low > 9.999 && j.change.high < 10.001, "%f to %f", j.change.low,
	      j.change.high);
	assert_true(j.without == 400 && j.with == 440);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_change_is_called_what_it_is),
		cmocka_unit_test(a_change_at_the_limit_is_left_undecided),
		cmocka_unit_test(as_many_more_as_it_says_decide),
		cmocka_unit_test(how_many_more_is_by_the_root),
		cmocka_unit_test(bounds_belong_to_the_verdict),
		cmocka_unit_test(pairs_are_compared_not_runs),
	};

	return run_all(tests);
}
