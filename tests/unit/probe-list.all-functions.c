// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* all-functions: what the kernel's lists say of all, in lists made for it. */
#include "unit.h"
#include "targets.h"
#include <sys/stat.h>
#include <plumb/functions/lists.h>

static char root[] = "/tmp/all-functions.XXXXXX";

static void write_file(const char *path, const char *text)
{
	char name[256];
	FILE *f;

	snprintf(name, sizeof(name), "%s%s", root, path);
	for (char *p = name + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(name, 0700);
	}
	f = fopen(name, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int make_lists(void **state)
{
	plumb_functions_root = mkdtemp(root);
	if (!plumb_functions_root)
		return -1;
	write_file("/proc/kallsyms", "ffffffff81000000 T _stext\n"
				     "ffffffff81000100 t zebra\n"
				     "ffffffff81000200 t twin\n"
				     "ffffffff81000300 T real_name\n"
				     "ffffffff81000300 T alias\n"
				     "ffffffff81000400 t twin\n"
				     "ffffffff81000500 t cut.isra.0\n"
				     "ffffffff81000600 t cut.cold\n"
				     "ffffffff81000700 T __pfx_zebra\n"
				     "ffffffff81000800 t hidden\n"
				     "ffffffff81000900 D data\n"
				     "ffffffff81100000 T _etext\n"
				     "ffffffff82000000 t at_boot\n"
				     "ffffffffc0000100 t twin\t[mod]\n"
				     "ffffffffc0000200 t apple\t[mod]\n");
	write_file("/sys/kernel/tracing/available_filter_functions",
		   "zebra\ntwin\nalias\ntwin\ncut.isra.0\ntwin [mod]\napple [mod]\n");
	write_file("/sys/kernel/debug/kprobes/blacklist",
		   "0xffffffff81000100-0xffffffff81000200\tzebra\n");
	return 0;
}

static int remove_lists(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

/* "mod:twin", with a letter for each that is so: ambiguous, changed, untraced, blacklisted. */
static const char *described(const struct plumb_function *f)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s:%s %s%s%s%s", f->module ?: "", f->name,
		 f->ambiguous ? "a" : "", f->changed ? "c" : "", f->untraced ? "u" : "",
		 f->blacklisted ? "b" : "");
	return text;
}

static void all_are_there_with_what_is_known(void **state)
{
	static const char *const expected[] = {
		":_stext u", ":alias ", ":cut.isra.0 c", ":hidden u",  ":real_name ",
		":twin a",   ":twin a", ":zebra b",      "mod:apple ", "mod:twin ",
	};
	struct plumb_lists *lists = plumb_lists_read();
	struct plumb_functions found;

	assert_non_null(lists);
	assert_int_equal(functions_all(lists, &found), 0);
	for (size_t i = 0; i < found.n && i < LENGTH(expected); i++)
		assert_string_equal(described(&found.all[i]), expected[i]);
	assert_int_equal(found.n, LENGTH(expected));
	plumb_functions_free(&found);
	plumb_lists_free(lists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_there_with_what_is_known),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_lists, remove_lists);
}
