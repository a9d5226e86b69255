/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "directory.h"
#include "said.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/file.h>

/* What is said of a file that is not read. */
static const char *refusal(const char *path)
{
	size_t size;
	char *text;

	listen_to_stderr();
	text = plumb_file_read("--option", path, 1 << 20, &size);
	assert_null(text);
	free(text);
	return strchr(said(), ':');
}

static void refuses(const char *path, const char *why)
{
	char line[256];

	snprintf(line, sizeof(line), ": --option: %s\n", why);
	assert_string_equal(refusal(path), line);
}

/* SIZE bytes, which are no text. */
static void make(size_t size)
{
	FILE *f = fopen("file", "w");

	for (size_t i = 0; i < size; i++)
		fputc(i % 251, f);
	assert_int_equal(fclose(f), 0);
}

static void all_of_a_file_is_read(void **state)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1 << 20};
	size_t size;
	char *text;

	for (size_t i = 0; i < LENGTH(sizes); i++) {
		make(sizes[i]);
		text = plumb_file_read("--option", "file", 1 << 20, &size);
		assert_non_null(text);
		check(size == sizes[i] && !text[size], "%zu of %zu bytes", size, sizes[i]);
		for (size_t n = 0; n < size; n++)
			assert_int_equal((unsigned char)text[n], n % 251);
		free(text);
	}
}

static void what_is_no_file_or_has_no_end_is_not_read(void **state)
{
	alarm(10);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	refuses("pipe", "pipe is not a regular file");
	refuses("/dev/zero", "/dev/zero is not a regular file");
	refuses(".", ". is not a regular file");
	refuses("missing", "cannot open missing: No such file or directory");
	make((1 << 20) + 1);
	refuses("file", "file is larger than 1 MB");
	alarm(0);
}

/* It has no size. */
static void a_file_of_proc_is_read_as_far_as_it_may_be(void **state)
{
	size_t size;
	char *text = plumb_file_read("--option", "/proc/self/stat", 1 << 20, &size);

	assert_non_null(text);
	assert_int_equal(strtoul(text, NULL, 10), getpid());
	free(text);
	refuses("/proc/self/pagemap", "/proc/self/pagemap is larger than 1 MB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_a_file_is_read),
		cmocka_unit_test(what_is_no_file_or_has_no_end_is_not_read),
		cmocka_unit_test(a_file_of_proc_is_read_as_far_as_it_may_be),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
