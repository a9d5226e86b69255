/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"

#include <plumb/folded.h>

static struct plumb_folded stack(const char *text, uint64_t weight, uint64_t count, uint64_t min,
				 uint64_t max)
{
	return (struct plumb_folded){strdup(text), weight, count, max, min, NULL};
}

static void equal_stacks_are_one(void **state)
{
	struct plumb_folded all[] = {
		stack("a;b", 10, 2, 4, 6),
		stack("a;c", 100, 1, 100, 100),
		stack("a;b", 7, 3, 1, 5),
		stack("a;b", 9, 1, 9, 9),
	};
	size_t n = plumb_folded_merge(all, LENGTH(all));

	(void)state;
	assert_int_equal(n, 2);
	assert_string_equal(all[0].text, "a;c");
	assert_string_equal(all[1].text, "a;b");
	assert_int_equal(all[1].weight, 26);
	assert_int_equal(all[1].count, 6);
	assert_int_equal(all[1].min, 1);
	assert_int_equal(all[1].max, 9);
	for (size_t i = 0; i < n; i++)
		free(all[i].text);
}

static void the_heaviest_comes_first_and_equal_ones_by_name(void **state)
{
	struct plumb_folded all[] = {stack("c", 1, 1, 1, 1), stack("a", 1, 1, 1, 1),
				     stack("b", 2, 1, 1, 1)};
	char *text = NULL;
	size_t size, n = plumb_folded_merge(all, LENGTH(all));
	FILE *f = open_memstream(&text, &size);

	(void)state;
	plumb_folded_print(all, n, f);
	fclose(f);
	assert_string_equal(text, "b 2\na 1\nc 1\n");
	for (size_t i = 0; i < n; i++)
		free(all[i].text);
	free(text);
}

static void nothing_is_nothing(void **state)
{
	(void)state;
	assert_int_equal(plumb_folded_merge(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one),
		cmocka_unit_test(the_heaviest_comes_first_and_equal_ones_by_name),
		cmocka_unit_test(nothing_is_nothing),
	};

	return run_all(tests);
}
