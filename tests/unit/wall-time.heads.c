/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Behind the threads that pass a lock on: the one that held it, and no bystander. */
#include "unit.h"

#include <stdlib.h>

#include "heads.h"

#define LOCK  1
#define OTHER 2

/* Thread WAITER was woken by WAKER after NS. */
static struct part wait(uint32_t what, uint32_t waiter, uint32_t waker, int64_t ns)
{
	return (struct part){.cause = CAUSE_THREAD,
			     .what = what,
			     .place = "",
			     .tid = waiter,
			     .ns = ns,
			     .count = 5,
			     .other = {.tid = waker}};
}

static void test_chain(void **state)
{
	(void)state;
	/* 9 holds it; 1 to 4 wake one another; 7 once woke 2, for another reason. */
	const struct part parts[] = {wait(LOCK, 1, 9, 1000), wait(LOCK, 2, 1, 1010),
				     wait(LOCK, 3, 2, 1020), wait(LOCK, 4, 3, 1030),
				     wait(LOCK, 2, 7, 5),    wait(OTHER, 1, 4, 10)};
	struct head *heads;
	size_t n;

	heads = heads_of(parts, 6, &n);
	assert_int_equal(n, 2);
	assert_int_equal(heads[0].chain.what, LOCK);
	assert_int_equal(heads[0].other.tid, 9);
	assert_int_equal(heads[0].chain.passed, 3);
	assert_int_equal(heads[1].other.tid, 4);
	assert_int_equal(heads[1].chain.passed, 0);
	free(heads);
}

/* Who waits for a pipe waits for what is written, and for nothing that is held. */
static void test_pipe(void **state)
{
	(void)state;
	struct part part = wait(LOCK, 1, 9, 1000);
	size_t n;

	part.place = "anon_pipe_read";
	free(heads_of(&part, 1, &n));
	assert_int_equal(n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
