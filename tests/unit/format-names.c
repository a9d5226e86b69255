// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* format-names: error numbers and names that others chose, as text. */
#include "unit.h"
#include <plumb/bpf/key/key.h>
#include <plumb/core/fields.h>
#include <plumb/core/glob.h>
#include <plumb/core/reasons.h>
#include <plumb/core/report.h>

/* --- errors --- */

static void errors_have_their_names(void **state)
{
	static const struct {
		int error;
		const char *name;
	} known[] = {
		{1, "EPERM"},
		{-1, "EPERM"},
		{2, "ENOENT"},
		{4, "EINTR"},
		{11, "EAGAIN"}, /* EWOULDBLOCK too */
		{-32, "EPIPE"},
		{35, "EDEADLK"},
		{95, "EOPNOTSUPP"},
		{110, "ETIMEDOUT"},
		{133, "EHWPOISON"},
		/* The kernel's own: what a tracer sees of a call that a signal interrupts. */
		{512, "ERESTARTSYS"},
		{513, "ERESTARTNOINTR"},
		{514, "ERESTARTNOHAND"},
		{515, "ENOIOCTLCMD"},
		{516, "ERESTART_RESTARTBLOCK"},
		{-516, "ERESTART_RESTARTBLOCK"},
		{517, "EPROBE_DEFER"},
		{524, "ENOTSUPP"},
		{-524, "ENOTSUPP"},
		/* no names */
		{0, "errno 0"},
		{41, "errno 41"},
		{58, "errno 58"},
		{4000, "errno 4000"},
		{-4095, "errno 4095"},
	};

	for (size_t i = 0; i < LENGTH(known); i++)
		check(!strcmp(plumb_errno_name(known[i].error), known[i].name), "%d is %s, not %s",
		      known[i].error, plumb_errno_name(known[i].error), known[i].name);
}

static void every_error_has_some_name(void **state)
{
	for (int e = 0; e <= 4095; e++) {
		const char *name = plumb_errno_name(e);

		check(name && *name && strlen(name) < 24, "%d", e);
		check(*name == 'E' || !strncmp(name, "errno ", 6), "%d is %s", e, name);
	}
}

/* --- names that others chose --- */

static const char *escaped(const char *name)
{
	static char text[PLUMB_ESCAPED];

	plumb_escape(text, name, sizeof(text));
	return text;
}

static void names_are_escaped(void **state)
{
	static const struct {
		const char *name, *escaped;
	} samples[] = {
		{"kworker/0:1-eve", "kworker/0:1-eve"},
		{"h\303\251 \342\202\254", "h\303\251 \342\202\254"},
		{"\033[31m", "\\x1b[31m"},
		{"a?b", "a?b"},
		{"\\x1b", "\\\\x1b"},
		{" a ", "\\x20a\\x20"},
		{"\302\240a\342\200\213", "\\xc2\\xa0a\\xe2\\x80\\x8b"}, /* U+00a0, U+200b */
		{"\377\377", "\\xff\\xff"},
	};

	for (size_t i = 0; i < LENGTH(samples); i++)
		check(!strcmp(escaped(samples[i].name), samples[i].escaped), "%zu: %s", i,
		      escaped(samples[i].name));
}

static void names_of_unix_sockets_are_whole(void **state)
{
	static const char path[PLUMB_UNIX_ADDRESS + 1] = {[0 ... PLUMB_UNIX_ADDRESS - 1] = 'x'};
	static const struct {
		const char *address;
		size_t length;
		const char *name;
	} samples[] = {
		{"/run/x", 7, "/run/x"}, /* with the NUL that the kernel adds */
		{"/run/x", 6, "/run/x"},
		{"a\033[31m\n", 8, "a\\x1b[31m\\x0a"},
		{"\0bin", 4, "@bin"},
		{"\0bin\0\1", 6, "@bin@\\x01"},
		{"\0", 1, "@"},
		{"\0a\0", 3, "@a@"},
		{"\0\303", 2, "@\\xc3"}, /* a character that is cut */
		{"", 0, ""},
		{path, sizeof(path), path},
	};
	char text[4 * PLUMB_UNIX_ADDRESS + 2], little[6];

	for (size_t i = 0; i < LENGTH(samples); i++) {
		plumb_unix_name(text, samples[i].address, samples[i].length, sizeof(text));
		check(!strcmp(text, samples[i].name), "%zu: %s", i, text);
	}
	plumb_unix_name(little, "\0abcdefgh", 9, sizeof(little));
	check(!strcmp(little, "@abc"), "%s", little);
}

/* Also where it is made longest; a message may have names that are escaped already. */
static void messages_are_escaped(void **state)
{
	static const struct {
		const char *text, *escaped;
	} samples[] = {
		{"tool: h\303\251: no ", "tool: h\303\251: no "},
		{"\033[31m\n", "\\x1b[31m\\x0a"},
		{" a\\x1b\tb\302\233", " a\\x1b\\x09b\\xc2\\x9b"},
		{"\377\377\377", "\\xff\\xff\\xff"},
		{"", ""},
	};
	char text[8];

	for (size_t i = 0; i < LENGTH(samples); i++) {
		char *escaped = plumb_escaped_text(samples[i].text);

		check(!strcmp(escaped, samples[i].escaped), "%zu: %s", i, escaped);
		free(escaped);
	}
	plumb_escape_text(text, "abc\n\n", sizeof(text));
	assert_string_equal(text, "abc\\x0a");
}

/* Read as --comm reads it, whatever the name. */
static void escaped_names_can_be_told_back(void **state)
{
	static const char letters[] = "\\xa0 [?*\001\033\303\251\342\200\213\377,";
	char name[PLUMB_COMM_LEN] = "", again[PLUMB_COMM_LEN], pattern[2 * PLUMB_ESCAPED];
	uint64_t seed = 88172645463325252;

	for (int i = 0; i < 20000; i++) {
		struct plumb_globs g = {};
		size_t length = next_random(&seed) % PLUMB_COMM_LEN, n = 0;

		memset(name, 0, sizeof(name));
		for (size_t b = 0; b < length; b++)
			name[b] = letters[next_random(&seed) % (sizeof(letters) - 1)];
		/* What means something in a pattern is to be marked. */
		for (const char *c = escaped(name); *c; c++) {
			if (strchr("*?[", *c))
				pattern[n++] = '\\';
			pattern[n++] = *c;
		}
		pattern[n] = 0;
		check(plumb_globs_add(&g, pattern, again) == 1, "%s", pattern);
		assert_memory_equal(again, name, sizeof(name));
	}
}

static void fields_of_a_key_are_one_line(void **state)
{
	static const struct {
		const char *field, *text;
	} known[] = {{"pid", "4711"}, {"tid", "4712"}, {"comm", "a\\x0ab"}, {"cpu", "3"}};
	struct plumb_who who = {.pid = 4711, .tid = 4712, .cpu = 3, .comm = "a\nb"};
	char text[64];

	for (size_t k = 0; k < LENGTH(known); k++)
		for (size_t i = 0; i < plumb_n_common_fields; i++) {
			if (strcmp(plumb_common_fields[i].name, known[k].field))
				continue;
			plumb_field_format(&plumb_common_fields[i], &who, text, sizeof(text));
			assert_string_equal(text, known[k].text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_their_names),
		cmocka_unit_test(every_error_has_some_name),
		cmocka_unit_test(names_are_escaped),
		cmocka_unit_test(names_of_unix_sockets_are_whole),
		cmocka_unit_test(messages_are_escaped),
		cmocka_unit_test(escaped_names_can_be_told_back),
		cmocka_unit_test(fields_of_a_key_are_one_line),
	};

	return run_all(tests);
}
