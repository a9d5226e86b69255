// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ledger: what its counters amount to, and when --strict is broken. */
#include "unit.h"
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/report.h>

#define WHOLE (100 * PLUMB_PERCENT)

static void sums_are_exact(void **state)
{
	struct plumb_bucket fast = {.index = 100, .count = 1000},
			    slow[] = {{.index = 200, .count = 3},
				      {.index = plumb_hist_buckets(6) - 1, .count = 6}};
	struct plumb_row rows[] = {
		{.slot = 0, .count = 1000, .dist = {.buckets = &fast, .n = 1, .precision = 6}},
		{.slot = 1,
		 .count = 9,
		 .errors = 4,
		 .dist = {.buckets = slow, .n = 2, .precision = 6}},
	};
	struct plumb_snapshot total = {
		.rows = rows,
		.n = 2,
		.missed = 2,
		.missed_known = true,
		.ledger = {.began = 1100,
			   .exit_lost = 5,
			   .exit_lost_nested = 3,
			   .no_state = 11,
			   .too_deep = 17,
			   .filtered_at_exit = 40,
			   .unmatched = 7,
			   .abandoned = 16,
			   .untracked = 13},
	};
	struct plumb_verdict v = plumb_ledger_judge(&total);

	assert_int_equal(v.recorded, 1009);
	assert_int_equal(v.saturated, 6);
	/*
	 * What is pooled or saturated is recorded; what ended only, and what has no state, is older
	 * than the trace.  Ends that are known to be lost are among the missed executions.
	 */
	assert_int_equal(v.exit_lost, 5 + 3);
	assert_int_equal(v.entry_lost + v.both_lost, 0);
	assert_int_equal(v.lost, 11 + 17 + 13 + 8);
	assert_int_equal(v.abandoned, 16);
	/* began = recorded + filtered_at_exit + in flight + abandoned + exit_lost +
	 * exit_lost_nested */
	assert_int_equal(v.in_flight, 1100 - 1009 - 40 - 16 - 5 - 3);
	assert_int_equal(v.pooled, rows[0].count);
}

/* A call that is recorded in four rows is one call. */
static void calls_in_stages_count_once(void **state)
{
	const struct {
		char comm[16];
		uint32_t stage;
	} keys[] = {{.stage = 0}, {.stage = 1}, {.stage = 2}, {.stage = 0}};
	/* Of 401 calls the whole of 394 and 6 is in rows of its own, that of one in [other]. */
	struct plumb_row rows[] = {
		{.slot = 0, .count = 409},
		{.slot = 1, .key = &keys[0], .count = 394},
		{.slot = 2, .key = &keys[1], .count = 400},
		{.slot = 3, .key = &keys[2], .count = 395},
		{.slot = 4, .key = &keys[3], .count = 6},
	};
	struct plumb_snapshot total = {
		.rows = rows,
		.n = 5,
		.stages = 4,
		.stage_at = 16,
		.ledger = {.began = 408},
	};
	struct plumb_verdict v = plumb_ledger_judge(&total);

	assert_int_equal(v.recorded, 401);
	assert_int_equal(v.pooled, 1);
	assert_int_equal(v.in_flight, 7);
}

/* A request of io_uring is lost with either of its ends, which are programs of their own. */
static void whole_calls_are_lost_by_one_miss(void **state)
{
	struct plumb_snapshot total = {
		.missed = 100,
		.missed_whole = 60,
		.missed_ends = true,
	};

	assert_int_equal(plumb_ledger_judge(&total).lost, 60 + (100 - 60) / 2);
	total.missed_ends = false;
	assert_int_equal(plumb_ledger_judge(&total).lost, 100);
}

/* What was read in runs with eight busy threads that made so many calls. */
struct run {
	const char *what;
	uint64_t made, missed;
	bool ends, in_cookies;
	struct plumb_ledger l;
	uint64_t recorded;
};

static const struct run runs[] = {
	{"fentry, 7.3, preempted",
	 160000,
	 129699,
	 true,
	 false,
	 {.began = 91058, .unmatched = 39409, .abandoned = 45, .exit_lost = 31179},
	 59834},
	{"fsession, 7.3, preempted",
	 160000,
	 146913,
	 true,
	 true,
	 {.began = 86543, .unmatched = 3},
	 86541},
	{"kprobe, 7.3, more calls inside than kretprobes",
	 200000,
	 84179,
	 true,
	 false,
	 {.began = 200000, .abandoned = 65, .exit_lost = 84114},
	 115821},
	{"kprobe.session, 6.12, as many", 160000, 39631, false, true, {.began = 120369}, 120369},
	{"kprobe.multi, 6.12, as many",
	 160000,
	 22221,
	 true,
	 false,
	 {.began = 160000, .exit_lost = 22221},
	 137779},
	{"fentry, 6.1-rt, no storage",
	 80000,
	 50020,
	 true,
	 false,
	 {.began = 51394, .unmatched = 17596, .exit_lost = 12006, .no_state = 1602},
	 39388},
	{"fentry, 7.3, doubtful ends",
	 80000,
	 42352,
	 true,
	 false,
	 {.began = 66677, .unmatched = 3954, .exit_lost = 19657, .abandoned = 3, .unpaired = 27},
	 46990},
};

static void recorded_and_lost_are_the_calls_made(void **state)
{
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		const struct run *r = &runs[i];
		struct plumb_row row = {.slot = 1, .count = r->recorded};
		struct plumb_snapshot total = {.rows = &row,
					       .n = 1,
					       .ledger = r->l,
					       .missed = r->missed,
					       .missed_known = true,
					       .missed_ends = r->ends,
					       .in_cookies = r->in_cookies};
		struct plumb_verdict v = plumb_ledger_judge(&total);

		if (v.recorded + v.lost != r->made)
			fail_msg("%s: %llu lost of %llu", r->what, (unsigned long long)v.lost,
				 (unsigned long long)r->made);
		assert_int_equal(v.in_flight, 0);
		assert_int_equal(v.abandoned, 0);
		assert_true(v.at_least <= v.lost);
		/* Ends without a beginning may be of calls from before the trace. */
		assert_int_equal(v.at_least, r->l.exit_lost + r->l.exit_lost_nested +
						     r->l.unpaired + r->l.no_state);
	}
}

static void without_misses_nothing_is_lost(void **state)
{
	struct plumb_row row = {.slot = 1, .count = 100};
	struct plumb_snapshot total = {.rows = &row,
				       .n = 1,
				       .ledger = {.began = 110, .unmatched = 8, .abandoned = 3},
				       .missed_known = true,
				       .missed_ends = true,
				       .in_cookies = true};
	struct plumb_verdict v = plumb_ledger_judge(&total);

	assert_int_equal(v.lost, 0);
	assert_int_equal(v.in_flight, 7);
	assert_int_equal(v.abandoned, 3);
	/* One execution missed: any of the calls may be the one, and no more than one is lost. */
	total.missed = 1;
	v = plumb_ledger_judge(&total);
	assert_int_equal(v.lost, 1);
	/* A state of the thread's own tells what is in flight. */
	total.in_cookies = false;
	total.missed = 20;
	v = plumb_ledger_judge(&total);
	assert_int_equal(v.in_flight, 7);
}

static void nothing_in_flight_is_0(void **state)
{
	struct plumb_row row = {.slot = 1, .count = 23};
	struct plumb_snapshot total = {.rows = &row, .n = 1, .ledger = {.began = 23}};

	assert_int_equal(plumb_ledger_judge(&total).in_flight, 0);
	/* Counters that are read while calls run may be one apart. */
	total.ledger.began = 22;
	assert_int_equal(plumb_ledger_judge(&total).in_flight, 0);
	/* Counted at entry, nothing begins. */
	total.ledger.began = 0;
	assert_int_equal(plumb_ledger_judge(&total).in_flight, 0);
	total = (struct plumb_snapshot){};
	assert_int_equal(plumb_ledger_judge(&total).recorded, 0);
	assert_int_equal(plumb_ledger_judge(&total).lost, 0);
}

static bool broken(uint64_t recorded, uint64_t lost, uint64_t percent)
{
	struct plumb_verdict v = {.recorded = recorded, .lost = lost};

	return plumb_ledger_is_broken(&v, percent);
}

static void strict_0_allows_none(void **state)
{
	assert_false(broken(0, 0, 0));
	assert_false(broken(1000000, 0, 0));
	assert_true(broken(0, 1, 0));
	assert_true(broken(1ULL << 62, 1, 0));
}

static void strict_allows_its_percentage_and_not_one_more(void **state)
{
	assert_false(broken(99, 1, PLUMB_PERCENT));
	assert_true(broken(98, 1, PLUMB_PERCENT));
	assert_true(broken(99, 2, PLUMB_PERCENT));
	assert_false(broken(1, 1, 50 * PLUMB_PERCENT));
	assert_true(broken(1, 2, 50 * PLUMB_PERCENT));
	assert_false(broken(999, 1, 100000 /* 0.1 % */));
	assert_true(broken(998, 1, 100000));
	assert_false(broken(WHOLE - 1, 1, 1 /* 0.000001 % */));
	assert_true(broken(WHOLE - 2, 1, 1));
	assert_true(broken(0, 1, WHOLE - 1));
}

static void strict_100_allows_all(void **state)
{
	assert_false(broken(0, 0, WHOLE));
	assert_false(broken(0, 1000, WHOLE));
	assert_false(broken(0, 1ULL << 63, WHOLE));
}

static void strict_is_exact_for_huge_counts(void **state)
{
	assert_false(broken((1ULL << 62), 1ULL << 62, 50 * PLUMB_PERCENT));
	assert_true(broken((1ULL << 62) - 1, 1ULL << 62, 50 * PLUMB_PERCENT));
	assert_true(broken((1ULL << 62), (1ULL << 62) + 1, 50 * PLUMB_PERCENT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(calls_in_stages_count_once),
		cmocka_unit_test(whole_calls_are_lost_by_one_miss),
		cmocka_unit_test(recorded_and_lost_are_the_calls_made),
		cmocka_unit_test(without_misses_nothing_is_lost),
		cmocka_unit_test(nothing_in_flight_is_0),
		cmocka_unit_test(strict_0_allows_none),
		cmocka_unit_test(strict_allows_its_percentage_and_not_one_more),
		cmocka_unit_test(strict_100_allows_all),
		cmocka_unit_test(strict_is_exact_for_huge_counts),
	};

	return run_all(tests);
}
