// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* suggest: up to three suggestions, the nearest first. */
#include "unit.h"
#include <plumb/base/suggest.h>

static const char *suggestion(const char *name, const char *const *names, size_t n)
{
	static char text[256];

	return plumb_suggest(name, names, n, text, sizeof(text));
}

static void three_at_most_and_the_nearest_first(void **state)
{
	static const char *const names[] = {"sendfile", "sendtoo", "send", "sendto", "sxxdto", "x"};

	(void)state;
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

	(void)state;
	assert_string_equal(suggestion("reed", names, LENGTH(names)),
			    "; did you mean read or raed");
}

static void nothing_near_is_nothing_said(void **state)
{
	static const char *const names[] = {"read", NULL, "write"};

	(void)state;
	assert_string_equal(suggestion("quotactl", names, LENGTH(names)), "");
	assert_string_equal(suggestion("read", names, 0), "");
}

static void names_are_cut_to_their_room(void **state)
{
	static const char *const names[] = {"read", "raed", "reed"};
	char text[24], *end = text + 22;

	(void)state;
	*end = '!';
	plumb_suggest("read", names, LENGTH(names), text, 22);
	assert_string_equal(text, "; did you mean read, ");
	assert_int_equal(*end, '!');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_at_most_and_the_nearest_first),
		cmocka_unit_test(the_same_name_is_said_once),
		cmocka_unit_test(nothing_near_is_nothing_said),
		cmocka_unit_test(names_are_cut_to_their_room),
	};

	return run_all(tests);
}
