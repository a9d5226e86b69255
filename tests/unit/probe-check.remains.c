// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* probe-check: verdicts on what the compiler left of a function. */
#include "unit.h"
#include "check/remains.h"

static struct check judged;

/* The verdict on "foo"; -1: nothing is wrong. */
static int judge_hollow(const struct plumb_callee *callees, size_t n, size_t exact, bool is_kernel,
			const struct plumb_calls *calls)
{
	struct remains r = {
		.check = &judged,
		.callees = callees,
		.n = n,
		.n_exact = exact,
		.calls = calls,
		.is_kernel = is_kernel,
	};

	judged = (struct check){};
	return remains_judge_hollow(&r) ? (int)judged.verdict : -1;
}

static const struct plumb_calls counted = {.has_code = true, .has_data = true, .has_init = true};
static const struct plumb_calls after_boot = {.has_code = true, .has_data = true};
static const struct plumb_calls uncounted = {};

static void what_is_never_called_is_inlined(void **state)
{
	struct plumb_callee c = {.name = "foo", .address = 16},
			    parts[] = {c, {.name = "foo.part.0", .address = 32, .direct = 2}};

	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), VERDICT_INLINED);
	c.exported = true;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), VERDICT_INLINED);
	assert_int_equal(judge_hollow(&c, 1, 1, false, &counted), -1);
	assert_int_equal(judge_hollow(&c, 1, 1, true, &uncounted), -1);
	assert_int_equal(judge_hollow(&c, 1, 1, true, &after_boot), VERDICT_MAYBE_INLINED);
	assert_null(strstr(judged.why, "never"));
	c.described = true, c.inlined = 2;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &after_boot), VERDICT_PARTLY_INLINED);
	c.described = false, c.inlined = 0;
	c.direct = 1;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &after_boot), -1);
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), -1);
	c.direct = 0, c.taken = 1;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), -1);
	c.taken = 0, c.address = 0; /* hidden */
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), -1);
	parts[0].described = true, parts[0].inlined = 2;
	assert_int_equal(judge_hollow(parts, 2, 1, false, &counted), VERDICT_INLINED);
	assert_non_null(strstr(judged.why, "callers call foo.part.0 on some paths"));
	/* It is known not to be inlined: then nobody calls it. */
	c.address = 16, c.described = true;
	assert_int_equal(judge_hollow(&c, 1, 1, true, &counted), -1);
}

static void what_is_inlined_here_and_called_there_is_partly_inlined(void **state)
{
	struct plumb_callee c[] = {
		{.name = "foo", .address = 16, .described = true, .inlined = 3, .direct = 2},
		{.name = "foo.part.0", .address = 32, .direct = 1},
	};

	assert_int_equal(judge_hollow(c, 1, 1, true, &counted), VERDICT_PARTLY_INLINED);
	assert_true(judged.has_inlined && judged.has_direct);
	assert_int_equal(judged.inlined, 3);
	assert_int_equal(judged.direct, 2);
	assert_non_null(strstr(judged.why, "inlined at 3 places; a probe sees only the 2 direct"));
	assert_string_equal(strstr(judged.why, " left"), " left");
	c[0].exported = true;
	assert_int_equal(judge_hollow(c, 1, 1, false, &counted), VERDICT_PARTLY_INLINED);
	assert_non_null(strstr(judged.why, "are left, and those of other files"));
	c[0].taken = 1;
	assert_int_equal(judge_hollow(c, 1, 1, true, &counted), VERDICT_PARTLY_INLINED);
	assert_non_null(strstr(judged.why, "are left, and calls by pointer"));
	assert_null(strstr(judged.why, "other files"));
	c[0].inlined = c[0].taken = 0, c[0].exported = false;
	assert_int_equal(judge_hollow(c, 2, 1, true, &counted), -1); /* its own call */
	c[1].direct = 2;
	assert_int_equal(judge_hollow(c, 2, 1, true, &counted), VERDICT_PARTLY_INLINED);
	assert_non_null(strstr(judged.why, "foo.part.0"));
	c[1].direct = 0;
	assert_int_equal(judge_hollow(c, 2, 1, true, &uncounted), VERDICT_PARTLY_INLINED);
	c[1].name = "foo.cold";
	assert_int_equal(judge_hollow(c, 2, 1, true, &uncounted), -1);
}

static enum verdict judge_made(const char *one, const char *two)
{
	struct plumb_callee c[] = {{.name = one, .address = 16}, {.name = two, .address = 32}};
	struct remains r = {.check = &judged, .callees = c, .n = two ? 2 : 1, .calls = &counted};

	judged = (struct check){};
	assert_true(remains_judge_made(&r));
	return judged.verdict;
}

static void suffixes_tell_what_was_made(void **state)
{
	assert_int_equal(judge_made("foo.isra.0", NULL), VERDICT_RENAMED);
	assert_int_equal(judge_made("foo.isra.0", "foo.isra.0.cold"), VERDICT_RENAMED);
	assert_int_equal(judge_made("foo.part.0", NULL), VERDICT_PARTLY_INLINED);
	assert_int_equal(judge_made("foo.cold", NULL), VERDICT_INLINED);
	assert_int_equal(judge_made("foo.part.0", "foo.constprop.0"), VERDICT_RENAMED);
	assert_non_null(strstr(judged.why, "foo.part.0, foo.constprop.0"));
}

static void what_is_left_may_have_no_symbol(void **state)
{
	struct plumb_callee c = {.name = "foo", .described = true, .inlined = 2};
	struct remains r = {.check = &judged, .callees = &c, .calls = &counted};

	judged = (struct check){};
	assert_true(remains_judge_inlined(&r));
	assert_int_equal(judged.verdict, VERDICT_INLINED);
	c.compiled = true;
	judged = (struct check){};
	assert_true(remains_judge_inlined(&r));
	assert_int_equal(judged.verdict, VERDICT_PARTLY_INLINED);
	c.inlined = 0;
	assert_false(remains_judge_inlined(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_never_called_is_inlined),
		cmocka_unit_test(what_is_inlined_here_and_called_there_is_partly_inlined),
		cmocka_unit_test(what_is_left_may_have_no_symbol),
		cmocka_unit_test(suffixes_tell_what_was_made),
	};

	return run_all(tests);
}
