/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"

#include <stdlib.h>
#include <plumb/terminal/text-table.h>

static char *printed(struct plumb_text_table *g)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	plumb_text_table_print(g, f);
	fclose(f);
	plumb_text_table_free(g);
	return text;
}

static const char *const headings[] = {"NAME", ">NS", "WHY"};

static void columns_are_as_wide_as_their_cells(void **state)
{
	struct plumb_text_table *g = plumb_text_table_new(headings, 3);
	char *text;

	for (int i = 1; i <= 2; i++) {
		plumb_text_table_cell(g, "probe%d", i);
		plumb_text_table_cell(g, "%d", i * i * i * 1234);
		plumb_text_table_cell(g, "%s", i == 1 ? "" : "it is\n");
	}
	text = printed(g);
	assert_string_equal(text, "NAME      NS  WHY\n"
				  "probe1  1234\n"
				  "probe2  9872  it is\\x0a\n");
	free(text);
}

static void the_last_column_is_wrapped_between_words(void **state)
{
	struct plumb_text_table *g = plumb_text_table_new(headings, 3);
	char *text;

	plumb_text_table_cell(g, "%030d", 0);
	plumb_text_table_cell(g, "1");
	plumb_text_table_cell(g, "%s",
			      "a reason that is told in so many words that they do not fit");
	text = printed(g);
	assert_string_equal(
		text,
		"NAME                            NS  WHY\n"
		"000000000000000000000000000000   1  a reason that is told in so many words that\n"
		"                                    they do not fit\n");
	free(text);
}

static void a_word_that_is_too_long_stays_whole(void **state)
{
	static const char *const one[] = {"A"};
	struct plumb_text_table *g = plumb_text_table_new(one, 1);
	char *text;

	plumb_text_table_cell(g, "%0100d", 7);
	text = printed(g);
	assert_int_equal(strlen(text), strlen("A\n") + 101);
	free(text);
}

static void without_rows_there_are_no_headings(void **state)
{
	char *text = printed(plumb_text_table_new(headings, 3));

	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_cells),
		cmocka_unit_test(the_last_column_is_wrapped_between_words),
		cmocka_unit_test(a_word_that_is_too_long_stays_whole),
		cmocka_unit_test(without_rows_there_are_no_headings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
