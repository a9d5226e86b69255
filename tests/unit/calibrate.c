// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* calibrate: what tracing adds, from loops of known lengths. */
#include "unit.h"
#include <math.h>
#include <plumb/cost/calibrate.h>
#include <plumb/user/self-test.h>

static const uint64_t some_seed = 88172645463325252;

/* Loops of calls of NS each, on a CPU that is SLOWER[i] times slower in loop I. */
static struct plumb_self_test self_test_of(double ns, const double *slower, size_t n)
{
	struct plumb_self_test t = {.n = n};

	for (size_t i = 0; i < n; i++) {
		t.call[i] = ns * slower[i];
		t.arithmetic[i] = 1000 * slower[i];
	}
	return t;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-6 * fabs(b);
}

static void a_drift_of_the_cpu_cancels(void **state)
{
	double before[PLUMB_SELF_TEST_LOOPS], after[PLUMB_SELF_TEST_LOOPS];
	struct plumb_self_test bare, traced;
	struct plumb_interval a, b, added;

	for (size_t i = 0; i < PLUMB_SELF_TEST_LOOPS; i++) {
		before[i] = 1 + 0.01 * i;
		after[i] = 2 + 0.05 * i; /* less than half as fast */
	}
	bare = self_test_of(100, before, PLUMB_SELF_TEST_LOOPS);
	traced = self_test_of(350, after, PLUMB_SELF_TEST_LOOPS);
	a = plumb_self_test_interval(&bare, 1000);
	b = plumb_self_test_interval(&traced, 1000);
	added = plumb_interval_added(&b, &a, &a);
	check(is_near(added.median, 250), "%g", added.median);
	check(is_near(added.low, 250) && is_near(added.high, 250), "%g to %g", added.low,
	      added.high);
	/* Its unit is what the arithmetic took: these ns are those of the first loops. */
	check(is_near(plumb_self_test_unit(&bare), 1155), "%g", plumb_self_test_unit(&bare));
}

static void loops_that_lost_the_cpu_do_not_count(void **state)
{
	struct plumb_self_test t = {.n = PLUMB_SELF_TEST_LOOPS};
	struct plumb_interval i;

	for (size_t n = 0; n < t.n; n++) {
		t.call[n] = n % 5 ? 200 : 4e6;
		t.arithmetic[n] = n % 7 ? 1000 : 5e6;
	}
	i = plumb_self_test_interval(&t, 1000);
	check(is_near(i.low, 200) && is_near(i.median, 200) && is_near(i.high, 200), "%g to %g",
	      i.low, i.high);
}

/* The interval is that of a difference of medians, and the states' own speeds differ too. */
static void the_interval_holds_what_was_added_19_times_of_20(void **state)
{
	uint64_t seed = some_seed;
	size_t held = 0, rounds = 400;

	for (size_t r = 0; r < rounds; r++) {
		struct plumb_interval of[3], added;

		for (size_t s = 0; s < 3; s++) {
			struct plumb_self_test t = {.n = PLUMB_SELF_TEST_LOOPS};
			double speed = 1 + next_random(&seed) % 1000 / 1000.;

			for (size_t i = 0; i < t.n; i++) {
				double noise = 1 + next_random(&seed) % 1000 / 5000.;

				t.call[i] = (s == 1 ? 350 : 100) * speed * noise;
				t.arithmetic[i] = 1000 * speed;
			}
			of[s] = plumb_self_test_interval(&t, 1000);
		}
		added = plumb_interval_added(&of[1], &of[0], &of[2]);
		/* The median of the noise is 1.1. */
		held += added.low <= 275 && 275 <= added.high;
	}
	check(held >= rounds * 95 / 100, "%zu of %zu", held, rounds);
}

static void the_worse_surroundings_count(void **state)
{
	const struct plumb_interval with = {300, 310, 320}, before = {90, 100, 110},
				    after = {60, 70, 140};
	struct plumb_interval added = plumb_interval_added(&with, &before, &after);

	check(is_near(added.low, 160) && is_near(added.median, 225) && is_near(added.high, 260),
	      "%g %g %g", added.low, added.median, added.high);
}

static struct plumb_overhead judged(struct plumb_interval traced, struct plumb_interval filtered)
{
	struct plumb_overhead o = {.traced = traced, .filtered = filtered, .filtered_known = true};

	plumb_overhead_judge(&o);
	return o;
}

static void what_cannot_be_is_not_said_without_a_word(void **state)
{
	struct plumb_overhead o;

	o = judged((struct plumb_interval){200, 210, 220}, (struct plumb_interval){90, 100, 110});
	assert_true(o.known);
	assert_string_equal(o.how, "calibrated");
	/* A rejected call that costs more than a traced one. */
	o = judged((struct plumb_interval){20, 22, 24}, (struct plumb_interval){60, 70, 80});
	assert_false(o.known);
	assert_string_equal(o.how, "disturbed");
	/* It may cost less. */
	o = judged((struct plumb_interval){20, 22, 65}, (struct plumb_interval){60, 70, 80});
	assert_true(o.known);
	check(strcmp(o.how, "calibrated") != 0, "%s", o.how);
	/* Tracing that makes calls faster. */
	o = judged((struct plumb_interval){-30, -10, 5}, (struct plumb_interval){-5, 0, 5});
	assert_false(o.known);
	/* What is below nothing is nothing. */
	o = judged((struct plumb_interval){-30, 10, 50}, (struct plumb_interval){-9, -3, 5});
	assert_true(o.known);
	assert_true(o.traced.low == 0 && o.traced.median == 10 && o.traced.high == 50);
	assert_true(o.filtered.low == 0 && o.filtered.median == 0 && o.filtered.high == 5);
}

static void nothing_to_reject_is_no_contradiction(void **state)
{
	struct plumb_overhead o = {.traced = {20, 22, 24}};

	plumb_overhead_judge(&o);
	assert_true(o.known);
	assert_false(o.filtered_known);
}

static void an_event_costs_what_its_programs_took(void **state)
{
	struct plumb_run_times t = {};

	/* Two that each request runs, one that one in four does, and one that is not attached. */
	plumb_run_times_add(&t, 400 * 300, 400);
	plumb_run_times_add(&t, 100 * 200, 100);
	plumb_run_times_add(&t, 400 * 100, 400);
	plumb_run_times_add(&t, 0, 0);
	check(is_near(plumb_run_times_mean(&t, true), 450), "%g", plumb_run_times_mean(&t, true));
	check(is_near(plumb_run_times_mean(&t, false), 200), "%g", plumb_run_times_mean(&t, false));
}

static void few_runs_are_not_evaluated(void **state)
{
	struct plumb_run_times t = {};

	plumb_run_times_add(&t, 60 * 300, 60);
	plumb_run_times_add(&t, 60 * 300, 60);
	check(plumb_run_times_mean(&t, true) == 0, "60 events");
	check(plumb_run_times_mean(&t, false) > 0, "120 events");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_drift_of_the_cpu_cancels),
		cmocka_unit_test(loops_that_lost_the_cpu_do_not_count),
		cmocka_unit_test(the_interval_holds_what_was_added_19_times_of_20),
		cmocka_unit_test(the_worse_surroundings_count),
		cmocka_unit_test(what_cannot_be_is_not_said_without_a_word),
		cmocka_unit_test(nothing_to_reject_is_no_contradiction),
		cmocka_unit_test(an_event_costs_what_its_programs_took),
		cmocka_unit_test(few_runs_are_not_evaluated),
	};

	return run_all(tests);
}
