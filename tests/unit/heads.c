// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* heads: for whom threads wait that wake one another. */
#include "unit.h"

#include <plumb/split/heads.h>

/* TID waits five times in WHAT, NS in all, and WAKER ends that. */
#define WAIT(what, tid, ns, waker)                                                                 \
	{                                                                                          \
		(what), (tid), (waker), (ns), 5, "of " #waker                                      \
	}

static void who_ends_most_is_the_head(void **state)
{
	/* 7 holds it, and 1 to 3 pass it on. */
	const struct plumb_ended_wait waits[] = {
		WAIT(1, 1, 1000, 7), WAIT(1, 2, 500, 1), WAIT(1, 2, 600, 7),
		WAIT(1, 3, 900, 2),  WAIT(1, 1, 400, 3), WAIT(1, 7, 3, 3),
	};
	char text[80];
	size_t n;
	struct plumb_head *heads = plumb_heads_of(waits, 6, &n);

	assert_int_equal(n, 1);
	assert_int_equal(heads->what, 1);
	assert_int_equal(heads->tid, 7);
	assert_string_equal(heads->by, "of 7");
	assert_int_equal(heads->passed, 3);
	assert_int_equal(heads->more, 0);
	assert_string_equal(plumb_head_text(heads, "a/7", "held it", text, sizeof(text)),
			    "a/7 held it, 3 others passed it on");
	free(heads);
}

static void places_have_their_own(void **state)
{
	const struct plumb_ended_wait waits[] = {
		WAIT(2, 1, 100, 7),
		WAIT(1, 1, 100, 8),
		WAIT(2, 2, 100, 7),
	};
	size_t n;
	struct plumb_head *heads = plumb_heads_of(waits, 3, &n);

	assert_int_equal(n, 2);
	assert_int_equal(heads[0].tid, 8);
	assert_int_equal(heads[1].tid, 7);
	assert_int_equal(heads[1].passed, 0);
	free(heads);
}

static void a_place_of_two_locks_has_two(void **state)
{
	const struct plumb_ended_wait waits[] = {
		WAIT(1, 1, 100, 7),
		WAIT(1, 2, 90, 8),
	};
	char text[80];
	size_t n;
	struct plumb_head *heads = plumb_heads_of(waits, 2, &n);

	assert_int_equal(n, 1);
	assert_int_equal(heads->tid, 7);
	assert_int_equal(heads->more, 1);
	assert_string_equal(plumb_head_text(heads, "a/7", "held it", text, sizeof(text)),
			    "a/7 and 1 other held it");
	free(heads);
}

static void few_waits_tell_nothing(void **state)
{
	const struct plumb_ended_wait waits[] = {{1, 1, 7, 1000, 4, NULL}};
	size_t n;

	free(plumb_heads_of(waits, 1, &n));
	assert_int_equal(n, 0);
}

static void equals_have_none(void **state)
{
	const struct plumb_ended_wait waits[] = {
		WAIT(1, 1, 100, 2),
		WAIT(1, 2, 100, 1),
		WAIT(2, 1, 100, 0),
	};
	size_t n;
	struct plumb_head *heads = plumb_heads_of(waits, 3, &n);

	assert_int_equal(n, 0);
	free(heads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_ends_most_is_the_head),
		cmocka_unit_test(places_have_their_own),
		cmocka_unit_test(a_place_of_two_locks_has_two),
		cmocka_unit_test(few_waits_tell_nothing),
		cmocka_unit_test(equals_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
