// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* syscall-slower: slow calls are printed in the order in which they ended. */
#include "unit.h"
#include <time.h>
#include <unistd.h>
#include <plumb/core/run.h>

#include "slower.h"
#include "syscall-slower.h"

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void take(uint64_t end, uint32_t tid)
{
	struct slow_call c = {.end = end, .ns = 1000, .tid = tid, .comm = "x", .has_arguments = 1};

	assert_int_equal(plumb_in_order.record(&slow_calls, &c, sizeof(c)), 0);
}

/* What is printed; to *AGAIN its error, or in how many ns it wants to be called. */
static char *printed_of(bool all, int *again)
{
	static char text[8192];
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO), err;
	uint64_t ns = 0;
	size_t n;

	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	err = plumb_in_order.idle(&slow_calls, all, &ns);
	*again = err ?: (int)ns;
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
	return text;
}

static char *printed(int *again)
{
	return printed_of(true, again);
}

static void without_a_call_nothing_is_printed(void **state)
{
	int again;

	assert_string_equal(printed(&again), "");
	assert_int_equal(again, 0);
}

static void the_first_to_end_is_the_first(void **state)
{
	uint64_t then = now() - 1000000000;
	const char *text, *a, *b, *c;
	int again;

	take(then + 3, 33);
	take(then + 1, 11);
	take(then + 2, 22);
	text = printed(&again);
	a = strstr(text, "x/11 "), b = strstr(text, "x/22 "), c = strstr(text, "x/33 ");
	assert_true(a && b && c && a < b && b < c);
	assert_int_equal(again, 0);
	assert_true(!strncmp(text, "ENDED ", 6));
}

static void what_may_be_overtaken_is_kept(void **state)
{
	uint64_t then = now();
	char *text;
	int again;

	take(then, 55);
	take(then - 1000000000, 44);
	text = printed(&again);
	assert_true(strstr(text, "x/44 ") && !strstr(text, "x/55 "));
	assert_true(again > 0);
	/* Its CPU was late: it ended before. */
	take(then - 1, 54);
	usleep(again / 1000 + 1000);
	text = printed(&again);
	assert_true(strstr(text, "x/54 ") && strstr(text, "x/54 ") < strstr(text, "x/55 "));
	assert_null(strstr(text, "ENDED"));
	assert_int_equal(again, 0);
	assert_string_equal(printed(&again), "");
}

/* However long ago it was. */
static void what_may_be_overtaken_by_what_is_not_taken_is_kept(void **state)
{
	uint64_t then = now() - 1000000000;
	const char *text;
	int again;

	take(then - 100000000, 66);
	take(then, 88);
	text = printed_of(false, &again);
	assert_true(strstr(text, "x/66 ") && !strstr(text, "x/88 "));
	assert_true(again > 0);
	take(then - 1, 77);
	text = printed(&again);
	assert_true(strstr(text, "x/77 ") && strstr(text, "x/77 ") < strstr(text, "x/88 "));
	assert_int_equal(again, 0);
}

static void a_record_that_is_too_short_is_none(void **state)
{
	struct slow_call c = {.end = 1};
	int again;

	assert_int_equal(plumb_in_order.record(&slow_calls, &c, sizeof(c) - 1), 0);
	assert_string_equal(printed(&again), "");
}

static void recall(uint64_t end, uint32_t tid)
{
	struct recall r = {.end = end, .tid = tid};

	assert_int_equal(plumb_in_order.record(&slow_calls, &r, sizeof(r)), 0);
}

static void take_again(uint64_t end, uint32_t tid, uint64_t replaces)
{
	struct slow_call c = {.end = end,
			      .ns = 1000,
			      .tid = tid,
			      .comm = "x",
			      .off[PLUMB_RETURN] = 900,
			      .held_by = PLUMB_RETURN_QUOTA,
			      .replaces = replaces};

	assert_int_equal(plumb_in_order.record(&slow_calls, &c, sizeof(c)), 0);
}

static void a_call_that_is_held_is_printed_when_it_is_over(void **state)
{
	uint64_t then = now() - 1000000000;
	const char *text;
	int again;

	take(then, 98);
	take(then, 99);
	take(then + 1, 99);
	recall(then, 99);
	text = printed(&again);
	assert_true(strstr(text, "x/98 ") && strstr(text, "x/99 "));
	assert_null(strstr(strstr(text, "x/99 ") + 1, "x/99 "));
	take_again(then + 5, 99, then);
	text = printed(&again);
	assert_true(strstr(text, " 90 ") && strstr(text, "; held on its way out: quota\n"));
}

static void a_call_that_was_printed_is_not_printed_again(void **state)
{
	uint64_t then = now() - 1000000000;
	int again;

	take(then, 111);
	assert_non_null(strstr(printed(&again), "x/111 "));
	recall(then, 111);
	take_again(then + 5, 112, then);
	take_again(then + 5, 111, then);
	take_again(then + 6, 111, 0);
	assert_null(strstr(strstr(printed(&again), "x/111 ") + 1, "x/111 "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_call_nothing_is_printed),
		cmocka_unit_test(the_first_to_end_is_the_first),
		cmocka_unit_test(what_may_be_overtaken_is_kept),
		cmocka_unit_test(what_may_be_overtaken_by_what_is_not_taken_is_kept),
		cmocka_unit_test(a_record_that_is_too_short_is_none),
		cmocka_unit_test(a_call_that_is_held_is_printed_when_it_is_over),
		cmocka_unit_test(a_call_that_was_printed_is_not_printed_again),
	};
	struct plumb_tool tool = {};
	struct plumb_run session = {.tool = &tool};

	calls_begin(false, false);
	plumb_in_order.begin(&slow_calls, &session);
	return run_all(tests);
}
