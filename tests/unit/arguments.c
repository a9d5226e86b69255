// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* arguments: of system calls, by name.  tests/truth/named.sh has them beside strace's. */
#include "unit.h"
#include <asm/unistd.h>
#include <time.h>
#include <plumb/syscalls/arguments.h>
#include <plumb/syscalls/syscalls.h>

static const struct {
	const char *name, *kinds;
} calls[] = {
#include "../../tools/lib/syscalls/argument-calls.inc"
};

static const char *const kinds[] = {
	"fd",    "dirfd", "ptr",     "pollfds",  "hex",        "int",       "long",       "off",
	"size",  "octal", "mode",    "ms",       "signal",     "futex",     "fcntl",      "sleep",
	"until", "=",     "timeval", "timespec", "futex_time", "futex_ptr", "futex_value"};

static bool is_kind(const char *word)
{
	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (!strcmp(word, kinds[i]))
			return true;
	return plumb_value_names(word);
}

static void each_kind_in_the_table_is_one(void **state)
{
	for (size_t i = 0; i < LENGTH(calls); i++) {
		char text[128], *rest = text, *word;

		check(strlen(calls[i].kinds) < sizeof(text), "%s", calls[i].name);
		strcpy(text, calls[i].kinds);
		while ((word = strsep(&rest, " ")))
			check(!*word || is_kind(word), "%s: %s", calls[i].name, word);
		for (size_t j = 0; j < i; j++)
			check(strcmp(calls[i].name, calls[j].name) != 0, "%s: twice",
			      calls[i].name);
		check(plumb_syscall_number(calls[i].name, 0) >= 0 ||
			      plumb_syscall_number(calls[i].name, 1) >= 0,
		      "%s: no such call", calls[i].name);
	}
}

static const char *text_of(const struct plumb_call *c, int i)
{
	static char text[256];

	return plumb_call_argument(c, i, text, sizeof(text));
}

static void unknown_values_are_numbers(void **state)
{
	struct plumb_call c = {.nr = __NR_socket, .arguments = {999, 1 | 0x40000, -1ULL}};

	assert_string_equal(text_of(&c, 0), "0x3e7");
	assert_string_equal(text_of(&c, 1), "SOCK_STREAM|0x40000");
	assert_string_equal(text_of(&c, 2), "-1");
	c.nr = __NR_getppid; /* not in the table */
	assert_int_equal(plumb_call_arguments(c.nr, 0), -1);
	assert_string_equal(text_of(&c, 0), "0x3e7");
	c.nr = 0x3fffffff;
	assert_int_equal(plumb_call_arguments(c.nr, 0), -1);
}

static void times_are_as_they_were_asked_for(void **state)
{
	const int64_t when[] = {3, 20000000}, before[] = {0, 5000000};
	struct plumb_call c = {.nr = __NR_clock_nanosleep,
			       .arguments = {CLOCK_MONOTONIC, 0, 0x1000},
			       .time = when};

	assert_string_equal(text_of(&c, 2), "3.02s");
	c.arguments[1] = TIMER_ABSTIME;
	c.began = 3000000000;
	assert_string_equal(text_of(&c, 2), "in 20.0ms");
	c.time = before;
	c.began = 10000000;
	assert_string_equal(text_of(&c, 2), "5.00ms ago");
	c.time = NULL; /* it could not be read */
	assert_string_equal(text_of(&c, 2), "0x1000");
}

static void calls_of_32_bits_have_what_fits(void **state)
{
	const int32_t when[] = {1, 500000000};
	struct syscall_shape shapes[2 * PLUMB_SYSCALLS] = {};
	struct plumb_call c = {
		.nr = plumb_syscall_number("nanosleep", PLUMB_ABI_COMPAT),
		.abi = PLUMB_ABI_COMPAT,
		.arguments = {0x1000},
		.time = when,
	};

	plumb_call_shapes(shapes);
	assert_string_equal(text_of(&c, 0), "1.5s");
	assert_int_equal(shapes[PLUMB_SYSCALLS + c.nr].time_bytes, 8);
	assert_int_equal(shapes[__NR_nanosleep].time_bytes, 16);
	c.nr = plumb_syscall_number("clock_nanosleep_time64", PLUMB_ABI_COMPAT);
	assert_int_equal(shapes[PLUMB_SYSCALLS + c.nr].time_bytes, 16);
	/* Its offset takes two registers. */
	c.nr = plumb_syscall_number("pread64", PLUMB_ABI_COMPAT);
	assert_int_equal(plumb_call_arguments(c.nr, c.abi), -1);
	c.nr = plumb_syscall_number("read", PLUMB_ABI_COMPAT);
	c.arguments[0] = UINT32_MAX;
	assert_string_equal(text_of(&c, 0), "-1");
}

static void shapes_say_where_descriptors_are(void **state)
{
	struct syscall_shape shapes[2 * PLUMB_SYSCALLS] = {};

	plumb_call_shapes(shapes);
	assert_int_equal(shapes[__NR_read].descriptors[0], 1);
	assert_int_equal(shapes[__NR_read].descriptors[1], 0);
	assert_int_equal(shapes[__NR_mmap].descriptors[0], 5);
	assert_int_equal(shapes[__NR_openat].descriptors[1], SYSCALL_RESULT);
	assert_int_equal(shapes[__NR_epoll_ctl].descriptors[1], 3);
	assert_int_equal(shapes[__NR_getppid].descriptors[0], 0);
	assert_true(shapes[__NR_futex].is_futex);
}

static void what_a_descriptor_is_follows_its_number(void **state)
{
	const char *const are[6] = {"</tmp/x>"};
	struct plumb_call c = {.nr = __NR_dup2, .arguments = {3, 4}, .descriptors = are};

	assert_string_equal(text_of(&c, 0), "3</tmp/x>");
	assert_string_equal(text_of(&c, 1), "4");
}

static void exact_times_have_no_digit_too_many(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {{0, "0s"},
		     {1, "1ns"},
		     {1000, "1us"},
		     {1500000, "1.5ms"},
		     {1000000001, "1.000000001s"},
		     {60000000000, "60s"},
		     {UINT64_MAX, "18446744073.709551615s"}};
	char text[64];

	for (size_t i = 0; i < LENGTH(times); i++)
		assert_string_equal(plumb_exact_time(times[i].ns, text, sizeof(text)),
				    times[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_in_the_table_is_one),
		cmocka_unit_test(unknown_values_are_numbers),
		cmocka_unit_test(times_are_as_they_were_asked_for),
		cmocka_unit_test(calls_of_32_bits_have_what_fits),
		cmocka_unit_test(shapes_say_where_descriptors_are),
		cmocka_unit_test(what_a_descriptor_is_follows_its_number),
		cmocka_unit_test(exact_times_have_no_digit_too_many),
	};

	return run_all(tests);
}
