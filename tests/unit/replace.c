/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <plumb/replace.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/plumb-replace.XXXXXX";

static int enter(void **state)
{
	(void)state;
	return mkdtemp(directory) && !chdir(directory) ? 0 : -1;
}

static int leave(void **state)
{
	(void)state;
	unlink("file");
	unlink("link");
	unlink("pipe");
	return chdir("/") || rmdir(directory); /* nothing else has been left there */
}

static int write_to(const char *path, const char *text, int err)
{
	struct plumb_replacement r;
	int begun = plumb_replace_begin(&r, path);

	if (begun)
		return begun;
	fputs(text, r.out);
	return plumb_replace_end(&r, err);
}

static void has(const char *path, const char *text)
{
	char found[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	fread(found, 1, sizeof(found) - 1, f);
	fclose(f);
	assert_string_equal(found, text);
}

static void a_file_is_replaced_by_what_was_written(void **state)
{
	struct stat st;

	(void)state;
	umask(027);
	assert_int_equal(write_to("file", "old", 0), 0);
	has("file", "old");
	assert_int_equal(stat("file", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(write_to("file", "new", 0), 0);
	has("file", "new");
}

static void what_fails_leaves_the_old_one(void **state)
{
	(void)state;
	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(write_to("file", "half", -EIO), -EIO);
	has("file", "old");
}

static void who_reads_meanwhile_has_the_old_one(void **state)
{
	struct plumb_replacement r;

	(void)state;
	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(plumb_replace_begin(&r, "file"), 0);
	fputs("new", r.out);
	fflush(r.out);
	has("file", "old");
	assert_int_equal(plumb_replace_end(&r, 0), 0);
	has("file", "new");
}

static void a_link_stays_one(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(write_to("file", "old", 0), 0);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(write_to("link", "new", 0), 0);
	has("file", "new");
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

static void a_device_stays_one(void **state)
{
	struct stat before, after;

	(void)state;
	assert_int_equal(stat("/dev/full", &before), 0);
	assert_true(S_ISCHR(before.st_mode));
	assert_int_equal(write_to("/dev/full", "text", 0), -ENOSPC);
	assert_int_equal(stat("/dev/full", &after), 0);
	assert_true(S_ISCHR(after.st_mode));
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(write_to("/dev/null", "text", 0), 0);
}

static void a_pipe_is_written_to_if_somebody_reads_it(void **state)
{
	struct plumb_replacement r;
	char found[8] = "";
	int fd;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	alarm(10);
	assert_int_equal(write_to("pipe", "text", 0), -ENXIO);
	fd = open("pipe", O_RDONLY | O_NONBLOCK);
	assert_int_equal(plumb_replace_begin(&r, "pipe"), 0);
	assert_int_equal(fcntl(fileno(r.out), F_GETFL) & O_NONBLOCK, 0);
	fputs("text", r.out);
	assert_int_equal(plumb_replace_end(&r, 0), 0);
	assert_int_equal(read(fd, found, sizeof(found)), 4);
	assert_string_equal(found, "text");
	close(fd);
	alarm(0);
}

static void where_nothing_can_be_it_says_why(void **state)
{
	(void)state;
	assert_int_equal(write_to("missing/file", "text", 0), -ENOENT);
	assert_int_equal(write_to(".", "text", 0), -EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_replaced_by_what_was_written),
		cmocka_unit_test(what_fails_leaves_the_old_one),
		cmocka_unit_test(who_reads_meanwhile_has_the_old_one),
		cmocka_unit_test(a_link_stays_one),
		cmocka_unit_test(a_device_stays_one),
		cmocka_unit_test(a_pipe_is_written_to_if_somebody_reads_it),
		cmocka_unit_test(where_nothing_can_be_it_says_why),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
