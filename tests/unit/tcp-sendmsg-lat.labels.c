// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* tcp-sendmsg-lat: files of labels. */
#include "said.h"
#include "unit.h"
#include <errno.h>
#include <unistd.h>

#include "labels.h"

static void lines_of_labels(void **state)
{
	static const struct {
		const char *line;
		int found;
		const char *name;
	} samples[] = {
		{"10.0.0.1 orders", 1, "orders"},
		{"\t10.0.0.1:80 \t orders\t", 1, "orders"},
		{"10.0.0.1 orders # of Europe", 1, "orders"},
		{"10.0.0.1 orders#1", 1, "orders#1"},
		{"10.0.0.1 orders\r", 1, "orders"},
		{"::1 1234567890123456789012345678901", 1, "1234567890123456789012345678901"},
		{"", 0, NULL},
		{"\r", 0, NULL},
		{"# 10.0.0.1 orders", 0, NULL},
		{"#10.0.0.1 orders", 0, NULL},
		{"10.0.0.1", -EINVAL, NULL},
		{"10.0.0.1 #orders", -EINVAL, NULL},
		{"orders 10.0.0.1", -EINVAL, NULL},
		{"10.0.0.1 orders book", -EINVAL, NULL},
		{"10.0.0.1 -", -EINVAL, NULL},
		{"10.0.0.1 or\001ders", -EINVAL, NULL},
		{"10.0.0.1 b\303\274cher", -EINVAL, NULL},
		{"::1 12345678901234567890123456789012", -EINVAL, NULL},
	};
	struct tcp_label label;
	const char *why;
	char line[128];
	int found;

	for (size_t i = 0; i < LENGTH(samples); i++) {
		strcpy(line, samples[i].line);
		why = NULL;
		found = tcp_parse_label(line, &label, &why);
		check(found == samples[i].found, "'%s': %d", samples[i].line, found);
		if (found > 0)
			check(!strcmp(label.name, samples[i].name), "'%s' is the name %s",
			      samples[i].line, label.name);
		check((found < 0) == (why != NULL), "'%s': why", samples[i].line);
	}
}

/* Reads BYTES as a file, with what is said on stderr in SAID. */
static int read_labels(struct tcp_labels *labels, const char *bytes, size_t n, char *said,
		       size_t size)
{
	char file[] = "/tmp/labels-XXXXXX", words[] = "/tmp/words-XXXXXX";
	int fd = mkstemp(file), to = mkstemp(words), saved = dup(STDERR_FILENO), result;
	ssize_t length;

	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
	dup2(to, STDERR_FILENO);
	result = tcp_labels_read(labels, file);
	dup2(saved, STDERR_FILENO);
	length = pread(to, said, size - 1, 0);
	said[length > 0 ? length : 0] = 0;
	close(saved);
	close(to);
	unlink(file);
	unlink(words);
	return result;
}

#define READ(labels, text, said) read_labels(labels, text, sizeof(text) - 1, said, sizeof(said))

static void entries_of_one_name_are_one_label(void **state)
{
	struct tcp_labels labels = {};
	char said[256];

	assert_int_equal(READ(&labels,
			      "# all\n\n10.0.0.1 a\n10.0.0.2 b\n10.0.0.1:80 a\n"
			      "10.0.0.2:80 c\n[::1]:80 b",
			      said),
			 0);
	assert_string_equal(said, "");
	assert_int_equal(labels.n, 5);
	assert_int_equal(labels.list[0].first, 0);
	assert_int_equal(labels.list[1].first, 1);
	assert_int_equal(labels.list[2].first, 0);
	assert_int_equal(labels.list[3].first, 3);
	assert_int_equal(labels.list[4].first, 1);
	assert_int_equal(labels.list[4].line, 7);
	free(labels.list);
}

static void bad_lines_are_named(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *said[2];
	} samples[] = {
#define SAMPLE(text, ...)                                                                          \
	{                                                                                          \
		text, sizeof(text) - 1,                                                            \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
		SAMPLE("10.0.0.1 a\n\n10.0.0.x b\n", ":3: not an address"),
		SAMPLE("10.0.0.1\n10.0.0.2 b\n10.0.0.3 c d\n", ":1: no name", ":3: a name is one"),
		SAMPLE("10.0.0.1 a\n# a\n10.0.0.1/32 b\n", ":3: the same", ":1\n"),
		SAMPLE("10.1.0.0/16:80 a\n10.1.2.3/16:80 a\n", ":2: the same", ":1\n"),
		SAMPLE("::ffff:10.0.0.1 a\n10.0.0.1 b\n", ":2: the same", ":1\n"),
		SAMPLE("10.0.0.1 a\0\n", ":1: not a text"),
		SAMPLE("10.0.0.1 a\n\xff\n", ":2: not an address"),
	};
	char said[1024];

	for (size_t i = 0; i < LENGTH(samples); i++) {
		struct tcp_labels labels = {};
		int err = read_labels(&labels, samples[i].text, samples[i].n, said, sizeof(said));

		check(err == -EINVAL, "'%s': %d", samples[i].text, err);
		for (size_t j = 0; j < 2 && samples[i].said[j]; j++)
			check(strstr(said, samples[i].said[j]) != NULL, "'%s': %s", samples[i].text,
			      said);
		free(labels.list);
	}
}

/* What differs in one bit, in length or in port is not the same. */
static void near_entries_are_two(void **state)
{
	struct tcp_labels labels = {};
	char said[256];

	assert_int_equal(READ(&labels,
			      "10.0.0.0/16 a\n10.0.0.0/17 a\n10.0.128.0/17 a\n10.0.0.0/16:1 a\n"
			      "10.0.0.0/16:2 a\n::/0 a\n0.0.0.0/0 a\n",
			      said),
			 0);
	assert_int_equal(labels.n, 7);
	free(labels.list);
}

static void there_is_a_limit(void **state)
{
	static char text[(TCP_MAX_LABELS + 1) * 24], said[256];
	struct tcp_labels labels = {};
	size_t n = 0;

	for (unsigned int i = 0; i < TCP_MAX_LABELS; i++)
		n += snprintf(text + n, sizeof(text) - n, "10.0.%u.%u n%u\n", i / 256, i % 256, i);
	assert_int_equal(read_labels(&labels, text, n, said, sizeof(said)), 0);
	assert_int_equal(labels.n, TCP_MAX_LABELS);
	/* A second file adds to the first. */
	assert_int_equal(READ(&labels, "10.1.0.0 more\n", said), -EINVAL);
	assert_non_null(strstr(said, ":1: more than 4096 labels"));
	free(labels.list);
}

static void a_file_that_is_not_there_is_named(void **state)
{
	struct tcp_labels labels = {};

	listen_to_stderr();
	assert_int_equal(tcp_labels_read(&labels, "/nonexistent/labels"), -EINVAL);
	assert_int_equal(tcp_labels_read(&labels, "/dev/zero"), -EINVAL);
	assert_non_null(strstr(
		said(), "--labels: cannot open /nonexistent/labels: No such file or directory\n"
			"tcp-sendmsg-lat.labels: --labels: /dev/zero is not a regular file\n"));
	free(labels.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_labels),
		cmocka_unit_test(entries_of_one_name_are_one_label),
		cmocka_unit_test(bad_lines_are_named),
		cmocka_unit_test(near_entries_are_two),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(a_file_that_is_not_there_is_named),
	};

	return run_all(tests);
}
