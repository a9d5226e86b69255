// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* suggest: the nearest name, and up to three suggestions, the nearest first. */
#include "unit.h"
#include <plumb/core/parse.h>
#include <plumb/terminal/suggest.h>

static void nearest_is_what_was_meant(void **state)
{
	static const char *const names[] = {"read",    NULL,     "write",       "sendto",
					    "sendmsg", "openat", "close",       "getpid",
					    "gettid",  NULL,     "nanosleep_us"};
	static const struct {
		const char *typed, *meant;
	} samples[] = {
		{"sendot", "sendto"}, {"sento", "sendto"}, {"Sendto", "sendto"},
		{"wirte", "write"},   {"clos", "close"},   {"nano", "nanosleep_us"},
	};

	for (size_t i = 0; i < LENGTH(samples); i++) {
		const char *nearest = plumb_nearest(samples[i].typed, names, LENGTH(names));

		check(nearest && !strcmp(nearest, samples[i].meant), "'%s': %s, not %s",
		      samples[i].typed, nearest ?: "nothing", samples[i].meant);
	}
}

static const char *suggestion(const char *name, const char *const *names, size_t n)
{
	static char text[256];

	return plumb_suggest(name, names, n, text, sizeof(text));
}

static void nothing_near_is_nothing(void **state)
{
	static const char *const names[] = {"read", "write", NULL, "sendto"};
	static const char *const none[] = {NULL, NULL};
	static char huge[4096];

	memset(huge, 'r', sizeof(huge) - 1);
	assert_null(plumb_nearest("nonsense", names, LENGTH(names)));
	assert_null(plumb_nearest("", names, LENGTH(names)));
	assert_null(plumb_nearest(huge, names, LENGTH(names)));
	assert_null(plumb_nearest("read", none, LENGTH(none)));
	assert_null(plumb_nearest("read", names, 0));
	assert_string_equal(suggestion("quotactl", names, LENGTH(names)), "");
	assert_string_equal(suggestion("read", names, 0), "");
}

static void names_too_long_to_compare_are_passed_over(void **state)
{
	static char sixty_three[64], sixty_four[65], two_hundred[201];
	const char *const names[] = {two_hundred, sixty_four, sixty_three};

	memset(sixty_three, 'a', 63);
	memset(sixty_four, 'a', 64);
	memset(two_hundred, 'a', 200);
	assert_ptr_equal(plumb_nearest(sixty_three, names, LENGTH(names)), sixty_three);
	assert_ptr_equal(plumb_nearest(sixty_four, names, LENGTH(names)), sixty_three);
}

static void three_at_most_and_the_nearest_first(void **state)
{
	static const char *const names[] = {"sendfile", "sendtoo", "send", "sendto", "sxxdto", "x"};

	assert_string_equal(suggestion("sendto", names, LENGTH(names)),
			    "; did you mean sendto, sendtoo or send");
	assert_string_equal(suggestion("sendfil", names, 3),
			    "; did you mean sendfile, sendtoo or send");
	assert_string_equal(suggestion("sent", &names[2], 2), "; did you mean send or sendto");
	assert_string_equal(suggestion("sendfil", names, 1), "; did you mean sendfile");
}

static void the_same_name_is_said_once(void **state)
{
	static const char again[] = "read", *const names[] = {"read", again, "raed"};

	assert_string_equal(suggestion("reed", names, LENGTH(names)),
			    "; did you mean read or raed");
}

static void names_are_cut_to_their_room(void **state)
{
	static const char *const names[] = {"read", "raed", "reed"};
	char text[24], *end = text + 22;

	*end = '!';
	plumb_suggest("read", names, LENGTH(names), text, 22);
	assert_string_equal(text, "; did you mean read, ");
	assert_int_equal(*end, '!');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_is_what_was_meant),
		cmocka_unit_test(nothing_near_is_nothing),
		cmocka_unit_test(names_too_long_to_compare_are_passed_over),
		cmocka_unit_test(three_at_most_and_the_nearest_first),
		cmocka_unit_test(the_same_name_is_said_once),
		cmocka_unit_test(names_are_cut_to_their_room),
	};

	return run_all(tests);
}
