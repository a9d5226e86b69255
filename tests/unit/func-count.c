// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* func-count: what a target costs. */
#include "said.h"
#include "cost.h"

static void verdicts_have_their_bounds(void **state)
{
	assert_string_equal(cost_verdict(0, 0), "go");
	assert_string_equal(cost_verdict(9999.9, 0.99), "go");
	assert_string_equal(cost_verdict(9999.9, 1), "mind");
	assert_string_equal(cost_verdict(10000, 0), "mind");
	assert_string_equal(cost_verdict(100000, 5), "mind");
	assert_string_equal(cost_verdict(100, 5.1), "filter");
	assert_string_equal(cost_verdict(100000.1, 0), "filter");
}

/* In this order: each finds what the one before has left. */
static void what_is_measured_replaces_what_is_published(void **state)
{
	double ns[MECHANISMS] = {[FENTRY] = 50, [KPROBE_MULTI] = -1, [KPROBE] = 120};

	assert_true(costs[FENTRY].ns == 5.9 && costs[FENTRY].source == PUBLISHED);
	assert_ptr_equal(cost_extreme(PLUMB_TARGET_FUNCTION, false), &costs[FENTRY]);
	assert_ptr_equal(cost_extreme(PLUMB_TARGET_FUNCTION, true), &costs[KPROBE]);
	cost_measured(ns);
	assert_true(costs[FENTRY].ns == 50 && costs[FENTRY].source == MEASURED);
	assert_true(costs[KPROBE].ns == 120 && costs[KPROBE].source == MEASURED);
	/* Not here, while others of its kind are. */
	assert_true(costs[KPROBE_MULTI].ns == 0);
	/* Of another kind nothing was measured. */
	assert_true(costs[TRACEPOINT].ns == 11.8 && costs[TRACEPOINT].source == PUBLISHED);
	assert_ptr_equal(cost_extreme(PLUMB_TARGET_FUNCTION, true), &costs[KPROBE]);
}

static void what_was_kept_stays(void **state)
{
	static const bool there_is[PLUMB_TARGET_KINDS] = {[PLUMB_TARGET_TRACEPOINT] = true};
	double ns[MECHANISMS] = {[RAW_TRACEPOINT] = 60, [TRACEPOINT] = 90};
	static const double kept[MECHANISMS] = {[RAW_TRACEPOINT] = 4.5};
	char *text;
	size_t size;
	FILE *f;

	cost_kept(kept, "2026-11-20");
	assert_true(costs[RAW_TRACEPOINT].ns == 4.5 && costs[RAW_TRACEPOINT].source == KEPT);
	assert_true(costs[TRACEPOINT].ns == 0);
	cost_measured(ns);
	assert_true(costs[RAW_TRACEPOINT].ns == 4.5 && costs[RAW_TRACEPOINT].source == KEPT);
	assert_true(costs[TRACEPOINT].ns == 90 && costs[TRACEPOINT].source == MEASURED);
	assert_string_equal(cost_how(&costs[RAW_TRACEPOINT]), "probe-cost");
	f = open_memstream(&text, &size);
	cost_print(there_is, f);
	fclose(f);
	check(strstr(text, "measured by probe-cost on 2026-11-20:\n  raw_tracepoint 5ns\n"), "%s",
	      text);
	check(strstr(text, "measured here:\n  tracepoint 90ns\n"), "%s", text);
	check(!strstr(text, "published"), "%s", text);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_have_their_bounds),
		cmocka_unit_test(what_is_measured_replaces_what_is_published),
		cmocka_unit_test(what_was_kept_stays),
	};

	return run_all(tests);
}
