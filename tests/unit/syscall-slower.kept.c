// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* kept: the longest calls are kept, whatever their order, and the others are counted. */
#include "unit.h"

#include "slower.h"

#define CALLS (3 * KEPT_MOST)

/* Calls of 1 to CALLS ns, each once, in an order that looks random. */
static void fill(struct kept *k)
{
	const uint64_t step = 7919; /* a prime that does not divide CALLS */

	for (uint64_t i = 0; i < CALLS; i++) {
		struct slow_call c = {.ns = i * step % CALLS + 1, .pid = 10 - i % 3};

		c.end = 1000000 + i + c.ns;
		c.tid = c.pid + i % 2;
		c.off[PLUMB_BLOCKED] = c.ns / 2;
		kept_add(k, &c, false);
	}
}

static void the_longest_are_kept(void **state)
{
	static bool seen[CALLS + 1];
	struct kept k = {};

	fill(&k);
	assert_int_equal(k.n, KEPT_MOST);
	assert_int_equal(k.dropped, CALLS - KEPT_MOST);
	for (size_t i = 0; i < k.n; i++) {
		const struct kept_call *c = &k.calls[i];

		check(c->ns > CALLS - KEPT_MOST && !seen[c->ns], "%lu ns", c->ns);
		seen[c->ns] = true;
		assert_int_equal(c->parts[PLUMB_BLOCKED] + c->parts[PLUMB_RETURN_PARTS], c->ns);
	}
	free(k.calls);
}

static void threads_follow_one_another(void **state)
{
	struct kept k = {};

	fill(&k);
	kept_sort(&k);
	for (size_t i = 1; i < k.n; i++) {
		const struct kept_call *a = &k.calls[i - 1], *b = &k.calls[i];

		check(a->pid < b->pid || (a->pid == b->pid && a->tid <= b->tid), "thread %u",
		      b->tid);
		check(a->tid != b->tid || a->pid != b->pid || a->begin <= b->begin, "at %lu",
		      b->begin);
	}
	free(k.calls);
}

static void what_is_removed_makes_room(void **state)
{
	struct kept k = {};

	for (uint64_t i = 1; i <= KEPT_MOST; i++)
		kept_add(&k, &(struct slow_call){.end = 5 * i, .ns = i, .tid = 7}, false);
	kept_remove(&k, 8, 500);
	assert_int_equal(k.n, KEPT_MOST);
	k.dropped = 0;
	kept_remove(&k, 7, 500);
	kept_remove(&k, 7, 5 * KEPT_MOST);
	kept_add(&k, &(struct slow_call){.end = 1, .ns = KEPT_MOST + 1, .tid = 9}, false);
	kept_add(&k, &(struct slow_call){.end = 1, .ns = KEPT_MOST + 2, .tid = 9}, false);
	assert_int_equal(k.dropped, 0);
	kept_add(&k, &(struct slow_call){.end = 1, .ns = KEPT_MOST + 3, .tid = 9}, false);
	assert_int_equal(k.dropped, 1);
	for (size_t i = 0; i < k.n; i++)
		check(k.calls[i].ns != 1 && k.calls[i].ns != 100 && k.calls[i].ns != KEPT_MOST,
		      "%lu ns", k.calls[i].ns);
	free(k.calls);
}

static void no_calls_are_sorted(void **state)
{
	struct kept k = {};

	kept_sort(&k);
	assert_int_equal(k.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_are_kept),
		cmocka_unit_test(threads_follow_one_another),
		cmocka_unit_test(what_is_removed_makes_room),
		cmocka_unit_test(no_calls_are_sorted),
	};

	return run_all(tests);
}
