// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* atomic file: the old ones keep their contents under numbered names. */
#include "directory.h"

#include <errno.h>
#include <sys/stat.h>
#include <plumb/files/atomic-file.h>

static int write_rotated(const char *text, unsigned int most, int err)
{
	struct plumb_atomic_file r;

	assert_int_equal(plumb_atomic_file_begin(&r, "file"), 0);
	fputs(text, r.out);
	err = err ?: plumb_atomic_file_rotate(&r, most);
	return plumb_atomic_file_end(&r, err);
}

/* An empty text: there is no such file. */
static void has(const char *path, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(path, "r");

	if (f) {
		fread(found, 1, sizeof(found) - 1, f);
		fclose(f);
	}
	check(!strcmp(found, text), "%s: '%s', not '%s'", path, found, text);
}

static int clear(void **state)
{
	unlink("file");
	unlink("file.1");
	unlink("file.2");
	unlink("file.3");
	rmdir("file.2");
	return 0;
}

static void old_files_move_on(void **state)
{
	for (char i = '1'; i <= '6'; i++)
		assert_int_equal(write_rotated((char[]){i, 0}, 3, 0), 0);
	has("file", "6");
	has("file.1", "5");
	has("file.2", "4");
	has("file.3", "");
}

static void one_file_has_no_old_ones(void **state)
{
	assert_int_equal(write_rotated("1", 1, 0), 0);
	assert_int_equal(write_rotated("2", 1, 0), 0);
	has("file", "2");
	has("file.1", "");
}

static void what_fails_moves_none(void **state)
{
	assert_int_equal(write_rotated("1", 3, 0), 0);
	assert_int_equal(write_rotated("2", 3, 0), 0);
	assert_int_equal(write_rotated("3", 3, -ENOSPC), -ENOSPC);
	has("file", "2");
	has("file.1", "1");
	has("file.2", "");
}

static void what_cannot_move_leaves_the_file(void **state)
{
	assert_int_equal(write_rotated("1", 3, 0), 0);
	assert_int_equal(write_rotated("2", 3, 0), 0);
	assert_int_equal(mkdir("file.2", 0700), 0);
	assert_int_equal(write_rotated("3", 3, 0), -EISDIR);
	has("file", "2");
	has("file.1", "1");
}

static void the_file_is_there_all_the_time(void **state)
{
	struct plumb_atomic_file r;

	assert_int_equal(write_rotated("1", 3, 0), 0);
	assert_int_equal(plumb_atomic_file_begin(&r, "file"), 0);
	fputs("2", r.out);
	assert_int_equal(plumb_atomic_file_rotate(&r, 3), 0);
	has("file", "1");
	has("file.1", "1");
	assert_int_equal(plumb_atomic_file_end(&r, 0), 0);
	has("file", "2");
	has("file.1", "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(old_files_move_on, NULL, clear),
		cmocka_unit_test_setup_teardown(one_file_has_no_old_ones, NULL, clear),
		cmocka_unit_test_setup_teardown(what_fails_moves_none, NULL, clear),
		cmocka_unit_test_setup_teardown(what_cannot_move_leaves_the_file, NULL, clear),
		cmocka_unit_test_setup_teardown(the_file_is_there_all_the_time, NULL, clear),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, enter, leave);
}
