// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* when: times of the wall clock, and the next occurrence of those without a date. */
#include "unit.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/schedule/when.h>

#define S 1000000000ULL

static void good_ones_are_taken(void **state)
{
	static const struct {
		const char *text;
		enum plumb_when_kind kind;
		uint64_t ns;
	} good[] = {
		{"00:00", PLUMB_WHEN_CLOCK, 0},
		{"23:59:59", PLUMB_WHEN_CLOCK, 86399 * S},
		{"09:05", PLUMB_WHEN_CLOCK, (9 * 60 + 5) * 60 * S},
		{"1970-01-01T00:00:01Z", PLUMB_WHEN_AT, S},
		/* date -u -d 2026-11-25T13:00:00Z +%s */
		{"2026-11-25T13:00:00Z", PLUMB_WHEN_AT, 1795611600 * S},
		{"2026-11-25T13:00:00+01:00", PLUMB_WHEN_AT, 1795608000 * S},
		{"2026-11-25T13:00:00-05:30", PLUMB_WHEN_AT, 1795631400 * S},
		{"2028-02-29T00:00:00Z", PLUMB_WHEN_AT, 1835395200 * S},
		{"+30s", PLUMB_WHEN_AFTER, 30 * S},
		{"+1.5m", PLUMB_WHEN_AFTER, 90 * S},
		{"+2h", PLUMB_WHEN_AFTER, 7200 * S},
		{"/10s", PLUMB_WHEN_MULTIPLE, 10 * S},
		{"/250ms", PLUMB_WHEN_MULTIPLE, S / 4},
	};
	struct plumb_when when;

	for (size_t i = 0; i < LENGTH(good); i++) {
		check(!plumb_when_parse(good[i].text, &when), "%s", good[i].text);
		check(when.kind == good[i].kind && when.ns == good[i].ns, "%s: %d, %" PRIu64,
		      good[i].text, when.kind, when.ns);
	}
}

static void bad_ones_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"now",
		"1",
		"9:05",
		"24:00",
		"23:60",
		"23:59:60",
		"23:5",
		"23:59:5",
		"23:59:",
		"23:59:59Z",
		" 23:59",
		"23:59 ",
		"2026-11-25",
		"2026-11-25T13:00Z",
		"2026-11-25T13:00:00",
		"2026-11-25 13:00:00Z",
		"2026-02-29T00:00:00Z",
		"2026-06-31T00:00:00Z",
		"2026-13-01T00:00:00Z",
		"2026-00-01T00:00:00Z",
		"2026-01-00T00:00:00Z",
		"2026-11-25T13:00:00+1:00",
		"2026-11-25T13:00:00+01:0",
		"2026-11-25T13:00:00+24:00",
		"2026-11-25T13:00:00Zx",
		"1969-12-31T23:59:59Z",
		"+",
		"+30",
		"+0s",
		"+-1s",
		"+9000h",
		"/",
		"/10",
		"/0s",
		"10s",
		"+10d",
	};
	struct plumb_when when;

	for (size_t i = 0; i < LENGTH(bad); i++)
		check(plumb_when_parse(bad[i], &when), "%s is taken", bad[i]);
}

static uint64_t next(const char *text, const char *from)
{
	struct plumb_when when, at;

	assert_int_equal(plumb_when_parse(text, &when), 0);
	assert_int_equal(plumb_when_parse(from, &at), 0);
	return plumb_when_resolve(&when, at.ns);
}

static uint64_t at(const char *text)
{
	struct plumb_when when;

	assert_int_equal(plumb_when_parse(text, &when), 0);
	return when.ns;
}

static void the_next_occurrence_is_found(void **state)
{
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_int_equal(next("14:00", "2026-11-25T12:59:59Z"), at("2026-11-25T13:00:00Z"));
	/* it is that time: the next one */
	assert_int_equal(next("14:00", "2026-11-25T13:00:00Z"), at("2026-11-26T13:00:00Z"));
	assert_int_equal(next("00:30:01", "2026-11-25T23:00:00Z"), at("2026-11-25T23:30:01Z"));
	/* across the end of the month, and of summer time */
	assert_int_equal(next("08:00", "2026-11-30T12:00:00Z"), at("2026-12-01T07:00:00Z"));
	assert_int_equal(next("08:00", "2026-10-24T12:00:00Z"), at("2026-10-25T07:00:00Z"));
	assert_int_equal(next("08:00", "2026-10-23T12:00:00Z"), at("2026-10-24T06:00:00Z"));
	assert_int_equal(next("+90s", "2026-11-25T12:59:59Z"), at("2026-11-25T13:01:29Z"));
	assert_int_equal(next("/10s", "2026-11-25T12:59:59Z"), at("2026-11-25T13:00:00Z"));
	assert_int_equal(next("/10s", "2026-11-25T13:00:00Z"), at("2026-11-25T13:00:10Z"));
	assert_int_equal(next("2026-11-25T13:00:00Z", "2027-11-25T12:59:59Z"),
			 at("2026-11-25T13:00:00Z"));
}

/* On 25 November at 23:30 the clock is set back to 22:30. */
static void of_a_time_that_comes_twice_the_next_is_found(void **state)
{
	setenv("TZ", "AAA0BBB-1,J10/3,J329/23:30", 1);
	tzset();
	assert_int_equal(next("23:25", "2026-11-25T22:00:00Z"), at("2026-11-25T22:25:00Z"));
	assert_int_equal(next("23:25", "2026-11-25T12:00:00Z"), at("2026-11-25T22:25:00Z"));
	assert_int_equal(next("23:25", "2026-11-25T22:25:00Z"), at("2026-11-25T23:25:00Z"));
	assert_int_equal(next("23:25", "2026-11-25T23:24:59Z"), at("2026-11-25T23:25:00Z"));
	assert_int_equal(next("23:25", "2026-11-25T23:25:00Z"), at("2026-11-26T23:25:00Z"));
	assert_int_equal(next("22:30", "2026-11-25T21:29:59Z"), at("2026-11-25T21:30:00Z"));
	assert_int_equal(next("22:30", "2026-11-25T21:30:00Z"), at("2026-11-25T22:30:00Z"));
	assert_int_equal(next("22:29", "2026-11-25T21:29:00Z"), at("2026-11-26T22:29:00Z"));
	assert_int_equal(next("23:30", "2026-11-25T12:00:00Z"), at("2026-11-25T23:30:00Z"));
	/* Skipped on 10 January from 03:00 to 04:00: an hour of that name comes the next day. */
	assert_int_equal(next("04:00", "2026-01-10T02:59:00Z"), at("2026-01-10T03:00:00Z"));
	assert_in_range(next("03:30", "2026-01-10T02:00:00Z"), at("2026-01-10T02:30:00Z"),
			at("2026-01-10T03:30:00Z"));
	/* Standard time that is changed, which is no summer time. */
	if (access("/usr/share/zoneinfo/America/Caracas", R_OK))
		return;
	setenv("TZ", ":America/Caracas", 1);
	tzset();
	assert_int_equal(next("02:50", "2007-12-09T06:00:00Z"), at("2007-12-09T06:50:00Z"));
	assert_int_equal(next("02:50", "2007-12-09T06:50:00Z"), at("2007-12-09T07:20:00Z"));
}

static void a_wait_ends_when_the_time_has_come(void **state)
{
	const struct plumb_when span = {PLUMB_WHEN_AFTER, S / 20},
				multiple = {PLUMB_WHEN_MULTIPLE, S / 10}, past = {PLUMB_WHEN_AT, S};
	const uint64_t begin = plumb_now();
	uint64_t came, wall;

	check(!plumb_when_wait(&span, &came), "a span");
	check(came >= begin + S / 20 && came <= plumb_now(), "%" PRIu64, came - begin);
	check(!plumb_when_wait(&multiple, &came), "a multiple");
	wall = (plumb_wall_now() - (plumb_now() - came)) % (S / 10);
	check(wall < S / 40 || wall > S / 10 - S / 40, "%" PRIu64 " ns from it", wall);
	check(!plumb_when_wait(&past, &came), "one that has passed");
	check(plumb_now() - came < S, "came before");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones_are_taken),
		cmocka_unit_test(bad_ones_are_refused),
		cmocka_unit_test(the_next_occurrence_is_found),
		cmocka_unit_test(of_a_time_that_comes_twice_the_next_is_found),
		cmocka_unit_test(a_wait_ends_when_the_time_has_come),
	};

	return run_all(tests);
}
