// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* traceability: what a kernel's symbols say of a name, as data; of one that is not running. */
#include "unit.h"
#include <plumb/functions/traceability.h>

static const char symbols[] = "ffffffff81000000 T _stext\n"
			      "ffffffff81000100 T whole\n"
			      "ffffffff81000200 t whole.cold\n"
			      "ffffffff81000300 t whole.part.0\n"
			      "ffffffff81000400 t pared.isra.0\n"
			      "ffffffff81000500 t twin\n"
			      "ffffffff81000600 t twin\n"
			      "ffffffff81000700 t barred_one\n"
			      "ffffffff81000800 T __noinstr_text_start\n"
			      "ffffffff81000800 t quiet\n"
			      "ffffffff81000900 T __noinstr_text_end\n"
			      "ffffffff81000900 t loud\n"
			      "ffffffff81002000 T _etext\n"
			      "ffffffff81004000 T boot\n"
			      "ffffffff82000000 d _kbl_addr_barred_one\n"
			      "ffffffffc0000100 t whole\t[mod]\n";

static struct plumb_traceability *all;
static ssize_t n;

static void look_up(const struct plumb_lists *lists, const char *name)
{
	free(all);
	n = plumb_lists_find(lists, name, &all);
}

static struct plumb_lists *lists_of(const char *text)
{
	struct plumb_lists *lists = plumb_lists_of(text);

	assert_non_null(lists);
	return lists;
}

static void what_has_the_name_comes_before_what_was_made_of_it(void **state)
{
	struct plumb_lists *lists = lists_of(symbols);

	look_up(lists, "whole");
	assert_int_equal(n, 4);
	assert_string_equal(all[0].name, "whole");
	assert_null(all[0].module);
	assert_string_equal(all[1].name, "whole");
	assert_string_equal(all[1].module, "mod");
	assert_string_equal(all[2].name, "whole.cold");
	assert_true(all[2].cold);
	assert_string_equal(all[3].name, "whole.part.0");
	assert_true(all[3].changed && !all[3].cold);
	look_up(lists, "mod:whole");
	assert_int_equal(n, 1);
	look_up(lists, "twin");
	assert_int_equal(n, 2);
	assert_int_equal(all[1].address, 0xffffffff81000600);
	look_up(lists, "nothing");
	assert_int_equal(n, 0);
	plumb_lists_free(lists);
}

static void symbols_tell_what_is_barred(void **state)
{
	struct plumb_lists *lists = lists_of(symbols);

	assert_true(plumb_lists_know_blacklist(lists));
	assert_false(plumb_lists_know_traceable(lists));
	look_up(lists, "barred_one");
	assert_true(n == 1 && all[0].blacklisted);
	look_up(lists, "quiet");
	assert_true(n == 1 && all[0].blacklisted);
	look_up(lists, "loud");
	assert_true(n == 1 && !all[0].blacklisted);
	look_up(lists, "boot");
	assert_true(n == 1 && all[0].boot_only);
	look_up(lists, "whole");
	assert_false(all[0].blacklisted || all[0].boot_only || all[0].untraced);
	plumb_lists_free(lists);
}

static void without_such_symbols_sections_are_all_that_is_known(void **state)
{
	char text[sizeof(symbols)];
	struct plumb_lists *lists;

	memcpy(text, symbols, sizeof(text));
	memcpy(strstr(text, "_kbl_addr_"), "_xxx_xxxx_", 10);
	lists = lists_of(text);
	assert_false(plumb_lists_know_blacklist(lists));
	look_up(lists, "barred_one");
	assert_false(all[0].blacklisted);
	look_up(lists, "quiet");
	assert_true(all[0].blacklisted);
	plumb_lists_free(lists);
}

static void names_that_are_near_are_offered(void **state)
{
	struct plumb_lists *lists = lists_of(symbols);
	char suggestion[256];

	assert_string_equal(plumb_lists_suggest(lists, "whol", suggestion, sizeof(suggestion)),
			    "; did you mean whole");
	assert_string_equal(plumb_lists_suggest(lists, "parde", suggestion, sizeof(suggestion)),
			    "; did you mean pared");
	assert_string_equal(
		plumb_lists_suggest(lists, "quite_another", suggestion, sizeof(suggestion)), "");
	plumb_lists_free(lists);
}

static void odd_symbols_do_no_harm(void **state)
{
	static const char *const texts[] = {"",
					    "\n\n",
					    "x",
					    " ",
					    "0 d",
					    "0 d ",
					    "zz d _kbl_addr_",
					    "ffffffff81000000 T",
					    "1 T __noinstr_text_end\n2 T __noinstr_text_start\n"};

	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct plumb_lists *lists = lists_of(texts[i]);

		look_up(lists, "f");
		assert_int_equal(n, 0);
		plumb_lists_free(lists);
	}
}

static int release(void **state)
{
	free(all);
	all = NULL;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_has_the_name_comes_before_what_was_made_of_it,
					  release),
		cmocka_unit_test_teardown(symbols_tell_what_is_barred, release),
		cmocka_unit_test_teardown(without_such_symbols_sections_are_all_that_is_known,
					  release),
		cmocka_unit_test(names_that_are_near_are_offered),
		cmocka_unit_test_teardown(odd_symbols_do_no_harm, release),
	};

	return run_all(tests);
}
