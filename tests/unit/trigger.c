// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trigger: the grammar, with its messages; when a condition holds. */
#include "unit.h"
#include <errno.h>
#include <plumb/core/tool.h>
#include <plumb/recorder/trigger.h>
#include <plumb/syscalls/syscall-options.h>
#include <plumb/syscalls/syscalls.h>

#define MS     1000000ULL
#define SECOND (1000 * MS)

static const struct plumb_tool times = {.measure.kind = PLUMB_TIMES, .measure.errors = true};
static const struct plumb_tool sizes = {.measure.kind = PLUMB_SIZES};
static const struct plumb_tool counts = {.measure.kind = PLUMB_COUNTS};
static const struct plumb_tool sums = {.measure.kind = PLUMB_SUMS};

static struct plumb_trigger parsed(const struct plumb_tool *tool, const char *text)
{
	struct plumb_trigger t;
	char why[256] = "";

	check(!plumb_trigger_parse(text, tool, &t, why, sizeof(why)), "%s: %s", text, why);
	return t;
}

static void good_ones_are_taken(void **state)
{
	static const struct {
		const struct plumb_tool *tool;
		const char *text;
		enum plumb_term term;
		bool below, or_equal;
		int kind;
		uint64_t value;
	} good[] = {
		{&times, "p99>50ms", PLUMB_TERM_PERCENTILE, false, false, PLUMB_PLAIN, 50 * MS},
		{&times, "p99.9>2*median", PLUMB_TERM_PERCENTILE, false, false, PLUMB_TIMES_MEDIAN,
		 2000},
		{&times, "max>=1.5s", PLUMB_TERM_MAX, false, true, PLUMB_PLAIN, 1500 * MS},
		{&times, "mean<=1m", PLUMB_TERM_MEAN, true, true, PLUMB_PLAIN, 60000 * MS},
		{&times, "total<0.25*median", PLUMB_TERM_TOTAL, true, false, PLUMB_TIMES_MEDIAN,
		 250},
		{&times, "errors>0", PLUMB_TERM_ERRORS, false, false, PLUMB_PLAIN, 0},
		{&counts, "count>1000/s", PLUMB_TERM_COUNT, false, false, PLUMB_PER_SECOND,
		 1000000},
		{&counts, "count<0.5/s", PLUMB_TERM_COUNT, true, false, PLUMB_PER_SECOND, 500},
		{&counts, "lost>0", PLUMB_TERM_LOST, false, false, PLUMB_PLAIN, 0},
		{&sizes, "missed>=10/s", PLUMB_TERM_MISSED, false, true, PLUMB_PER_SECOND, 10000},
		{&sizes, "p50>64K", PLUMB_TERM_PERCENTILE, false, false, PLUMB_PLAIN, 65536},
		{&sums, "mean>10us", PLUMB_TERM_MEAN, false, false, PLUMB_PLAIN, 10000},
	};

	for (size_t i = 0; i < LENGTH(good); i++) {
		const struct plumb_trigger t = parsed(good[i].tool, good[i].text);

		check(t.term == good[i].term && t.below == good[i].below &&
			      t.or_equal == good[i].or_equal && (int)t.kind == good[i].kind &&
			      t.value == good[i].value,
		      "%s: %d %d %d %d %" PRIu64, good[i].text, t.term, t.below, t.or_equal, t.kind,
		      t.value);
	}
	assert_int_equal(parsed(&times, "p99.9>1ms").percentile, 99900000);
	assert_int_equal(parsed(&times, "p100>1ms").percentile, 100 * PLUMB_PERCENT);
}

/* Each message names the column at fault, and what is expected there. */
static void bad_ones_are_refused_where_they_are(void **state)
{
	static const struct {
		const struct plumb_tool *tool;
		const char *text, *why;
	} bad[] = {
		{&times, "",
		 "column 1: expected one of p99 (any percentile) max mean total count "
		 "errors lost missed"},
		{&counts, "p99>1ms", "column 1: expected one of count lost missed"},
		{&sums, "max>1ms", "column 1: expected one of mean total count lost missed"},
		{&sizes, "errors>1", "column 1: expected one of p99"},
		{&times, "maximum>1ms", "column 1: expected one of"},
		{&times, "p0>1ms", "column 2: expected a percentile"},
		{&times, "p100.1>1ms", "column 2: expected a percentile"},
		{&times, "p9999999999999999999>1ms", "column 1: expected one of"},
		{&times, "p99", "column 4: expected > >= < or <="},
		{&times, "p99 > 50ms", "column 4: expected > >= < or <="},
		{&times, "p99=50ms", "column 4: expected > >= < or <="},
		{&times, "p99>", "column 5: expected a time with its unit"},
		{&times, "p99>50", "column 5: expected a time with its unit"},
		{&times, "p99>=50", "column 6: expected a time with its unit"},
		{&times, "p99>50ms ", "column 5: expected a time with its unit"},
		{&times, "p99>1000/s", "column 5: expected a time with its unit"},
		{&times, "p99>-1ms", "column 5: expected a time with its unit"},
		{&times, "p99>median", "column 5: expected a time with its unit"},
		{&times, "p99>1.0001*median", "column 5: expected a time with its unit"},
		{&sizes, "p99>50ms", "column 5: expected bytes"},
		{&counts, "count>1ms", "column 7: expected a number, as 100, 1000/s or 2*median"},
		{&counts, "count>1K", "column 7: expected a number"},
		{&counts, "count>/s", "column 7: expected a number"},
		{&counts, "count>99999999999999999999", "column 7: expected a number"},
		{&counts, "lost>2*median", "column 6: expected a number, as 0 or 10/s"},
		{&counts, "count<0", "column 7: it never holds, nothing is below 0"},
		{&counts, "count<0/s", "column 7: it never holds"},
		{&times, "max<0ns", "column 5: it never holds"},
		{&times, "p99<0.000us", "column 5: it never holds"},
		{&times, "p99<0*median", "column 5: it never holds"},
		{&sizes, "mean<0", "column 6: it never holds"},
		{&times, "lost<0", "column 6: it never holds"},
	};
	struct plumb_trigger t;
	char why[256];

	for (size_t i = 0; i < LENGTH(bad); i++) {
		assert_int_equal(
			plumb_trigger_parse(bad[i].text, bad[i].tool, &t, why, sizeof(why)),
			-EINVAL);
		check(!strncmp(why, bad[i].why, strlen(bad[i].why)), "%s: %s", bad[i].text, why);
	}
}

static bool holds(const struct plumb_tool *tool, const char *text, uint64_t value, uint64_t elapsed)
{
	const struct plumb_trigger t = parsed(tool, text);

	return plumb_trigger_holds(&t, value, elapsed, SECOND, NULL, 0);
}

static void comparisons_are_exact(void **state)
{
	assert_false(holds(&times, "p99>50ms", 50 * MS, 1));
	assert_true(holds(&times, "p99>50ms", 50 * MS + 1, 1));
	assert_true(holds(&times, "p99>=50ms", 50 * MS, 1));
	assert_true(holds(&times, "p99<50ms", 50 * MS - 1, 1));
	assert_false(holds(&times, "p99<50ms", PLUMB_NO_VALUE, 1));
	assert_false(holds(&times, "p99>50ms", PLUMB_NO_VALUE, 1));
	assert_true(holds(&counts, "count>0", 1, 1));
	assert_false(holds(&counts, "count>0", 0, 1));
	assert_true(holds(&counts, "count<=0", 0, SECOND));
	/* 1001 in a second, and in a little more than that */
	assert_true(holds(&counts, "count>1000/s", 1001, 1000 * MS));
	assert_false(holds(&counts, "count>1000/s", 1001, 1001 * MS));
	assert_true(holds(&counts, "count<0.5/s", 4, 10000 * MS));
	/* no overflow */
	assert_true(holds(&counts, "count>1000/s", UINT64_MAX - 1, 1000 * MS));
}

static void medians_take_both_middles(void **state)
{
	const uint64_t odd[] = {50, 10, PLUMB_NO_VALUE, 20, 40, 30, PLUMB_NO_VALUE};
	const uint64_t even[] = {50, 10, 20, 40, 30, 36};
	const struct plumb_trigger above = parsed(&times, "p50>2*median");
	const struct plumb_trigger below = parsed(&times, "p50<0.5*median");

	assert_false(plumb_trigger_holds(&above, 60, MS, MS, odd, LENGTH(odd)));
	assert_true(plumb_trigger_holds(&above, 61, MS, MS, odd, LENGTH(odd)));
	assert_true(plumb_trigger_holds(&below, 14, MS, MS, odd, LENGTH(odd)));
	assert_false(plumb_trigger_holds(&below, 15, MS, MS, odd, LENGTH(odd)));
	/* 30 and 36 are in the middle */
	assert_false(plumb_trigger_holds(&above, 72, MS, MS, even, LENGTH(even)));
	assert_true(plumb_trigger_holds(&above, 73, MS, MS, even, LENGTH(even)));
	assert_false(plumb_trigger_holds(&below, 15, MS, MS, even, LENGTH(even)));
	assert_true(plumb_trigger_holds(&below, 14, MS, MS, even, LENGTH(even)));
	/* of four nothing is said */
	assert_false(plumb_trigger_holds(&above, 1000, MS, MS, odd, LENGTH(odd) - 2));
}

/* On a busy host an interval ends late, and the next one is shorter. */
static void intervals_are_judged_by_their_length(void **state)
{
	const uint64_t before[] = {100000, 100000, 100000, 100000, 100000};
	const struct plumb_trigger calls = parsed(&counts, "count>3*median");
	const struct plumb_trigger longest = parsed(&times, "max>3*median");

	assert_true(holds(&counts, "count>=1", 1, 1));
	assert_true(holds(&counts, "count>500", 501, 334 * MS));
	assert_true(holds(&times, "max>=80ms", 90 * MS, 10 * MS));
	assert_true(holds(&times, "max<80ms", 70 * MS, 10 * MS));
	/* Little in a short interval is not little. */
	assert_false(holds(&counts, "count<500", 499, 900 * MS));
	assert_true(holds(&counts, "count<500", 449, 900 * MS));
	assert_true(holds(&counts, "count<500", 499, 991 * MS));
	assert_true(holds(&counts, "count<500", 600, 1500 * MS));
	assert_false(holds(&counts, "count<500", 1, 499 * MS));
	assert_false(holds(&counts, "count<500/s", 1, 499 * MS));
	assert_false(holds(&counts, "count>=0", 1, 0));
	/* 301 in a third of a second are more than 3 times 100 in a second, and so are 101. */
	assert_int_equal(plumb_trigger_for_median(&calls, 100, 1001 * MS, SECOND), 100000);
	assert_int_equal(plumb_trigger_for_median(&calls, 1, 400 * MS, SECOND), 2500);
	assert_int_equal(plumb_trigger_for_median(&longest, 100, 400 * MS, SECOND), 100);
	assert_true(plumb_trigger_holds(&calls, 101, 333 * MS, SECOND, before, LENGTH(before)));
	assert_false(plumb_trigger_holds(&calls, 99, 333 * MS, SECOND, before, LENGTH(before)));
	assert_false(plumb_trigger_holds(&calls, 599, 2000 * MS, SECOND, before, LENGTH(before)));
	assert_true(plumb_trigger_holds(&calls, 301, 1000 * MS, SECOND, before, LENGTH(before)));
}

static void values_are_of_the_row(void **state)
{
	struct plumb_bucket buckets[] = {{10, 99}, {20, 1}};
	struct plumb_row row = {
		.count = 100,
		.errors = 7,
		.sum = 1010,
		.dist = {.buckets = buckets, .n = 2, .precision = 6, .min = 10, .max = 20},
	};
	const struct plumb_row none = {.errors = 1};
	struct plumb_trigger t;

	t = parsed(&times, "p99>1ms");
	assert_int_equal(plumb_trigger_value(&t, &row), 10);
	assert_int_equal(plumb_trigger_value(&t, &none), PLUMB_NO_VALUE);
	t = parsed(&times, "max>1ms");
	assert_int_equal(plumb_trigger_value(&t, &row), 20);
	assert_int_equal(plumb_trigger_value(&t, &none), PLUMB_NO_VALUE);
	t = parsed(&times, "mean>1ms");
	assert_int_equal(plumb_trigger_value(&t, &row), 10);
	assert_int_equal(plumb_trigger_value(&t, &none), PLUMB_NO_VALUE);
	t = parsed(&times, "total>1ms");
	assert_int_equal(plumb_trigger_value(&t, &row), 1010);
	t = parsed(&times, "count>1");
	assert_int_equal(plumb_trigger_value(&t, &row), 100);
	t = parsed(&times, "errors>1");
	assert_int_equal(plumb_trigger_value(&t, &row), 7);
}

#define BY (PLUMB_BY_PID | PLUMB_BY_COMM | PLUMB_BY_SYSCALL)

static const struct plumb_tool calls = {
	.measure.kind = PLUMB_TIMES,
	.keys.fields = plumb_syscall_fields,
	.keys.n_fields = 2,
};

static void wrong_keys_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{"comm", "KEY=VALUE"},
		{"comm=", "KEY=VALUE"},
		{"=x", "KEY=VALUE"},
		{"pid=1,", "KEY=VALUE"},
		{"tid=1", "rows have no key tid: -b must name it"},
		{"nonsense=1", "rows have no key nonsense: -b help"},
		{"pid=0", "pid: expected a number above 0: 0"},
		{"pid=x", "pid: expected a number above 0: x"},
		{"pid=1x", "pid: expected a number above 0: 1x"},
		{"pid=4294967296", "pid: expected a number above 0"},
		{"comm=0123456789abcdef", "comm: expected a name of at most 15 bytes"},
		{"comm=0123456789abcd\\x65\\x66", "comm: expected a name of at most 15 bytes"},
		{"comm=a\\x00", "comm: expected a name"},
		{"syscall=sendtoo", "syscall: expected the name of a system call, as printed: "},
		{"syscall=syscall_x", "syscall: expected the name of a system call"},
		{"pid=1,pid=2", "pid is given twice, a row has one"},
	};
	struct plumb_trigger_key key;
	char why[256], text[64];

	for (size_t i = 0; i < LENGTH(bad); i++) {
		strcpy(text, bad[i][0]);
		check(plumb_trigger_key_parse(text, &calls, BY, &key, why, sizeof(why)) == -EINVAL,
		      "%s is taken", bad[i][0]);
		check(!strncmp(why, bad[i][1], strlen(bad[i][1])), "%s: %s", bad[i][0], why);
	}
}

static bool matches(const char *typed, const char *comm, uint32_t pid, uint32_t nr)
{
	struct syscall_key typed_key = {.who.pid = pid, .nr = nr};
	const struct plumb_row row = {.slot = 1, .key = &typed_key}, other = {};
	struct plumb_trigger_key key;
	char why[256], text[64];

	strcpy(text, typed);
	strcpy(typed_key.who.comm, comm);
	check(!plumb_trigger_key_parse(text, &calls, BY, &key, why, sizeof(why)), "%s: %s", typed,
	      why);
	assert_false(plumb_trigger_key_matches(&key, &other));
	return plumb_trigger_key_matches(&key, &row);
}

static void keys_match_as_rows_print_them(void **state)
{
	const int getppid = plumb_syscall_number("getppid", PLUMB_ABI_NATIVE);
	const struct plumb_trigger_key all = {};
	const struct plumb_row other = {};

	assert_true(matches("pid=23,comm=a b", "a b", 23, 0));
	assert_false(matches("pid=23,comm=a b", "a b", 24, 0));
	assert_false(matches("pid=23,comm=a b", "ab", 23, 0));
	assert_true(matches("pid=0023", "", 23, 0));
	assert_true(matches("comm=a\\x2cb", "a,b", 1, 0));
	assert_true(matches("comm=a\\\\b", "a\\b", 1, 0));
	assert_true(matches("comm=a\\x0a", "a\n", 1, 0));
	assert_true(matches("comm=a ", "a ", 1, 0));
	assert_true(matches("comm=a\\x20", "a ", 1, 0));
	/* no patterns */
	assert_true(matches("comm=[a]*?", "[a]*?", 1, 0));
	assert_false(matches("comm=[a]*?", "abc", 1, 0));
	assert_true(matches("comm=0123456789abcde", "0123456789abcde", 1, 0));
	assert_true(matches("syscall=getppid", "", 1, getppid));
	assert_false(matches("syscall=getppid", "", 1, getppid + 1));
	assert_true(matches("syscall=syscall_4711", "", 1, 4711));
	assert_true(plumb_trigger_key_matches(&all, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones_are_taken),
		cmocka_unit_test(bad_ones_are_refused_where_they_are),
		cmocka_unit_test(comparisons_are_exact),
		cmocka_unit_test(medians_take_both_middles),
		cmocka_unit_test(intervals_are_judged_by_their_length),
		cmocka_unit_test(values_are_of_the_row),
		cmocka_unit_test(wrong_keys_are_refused),
		cmocka_unit_test(keys_match_as_rows_print_them),
	};

	return run_all(tests);
}
