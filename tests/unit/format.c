// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* format: times and sizes as text. */
#include "unit.h"
#include <plumb/core/text.h>

static const struct {
	const char *name;
	uint64_t ns;
	enum plumb_unit unit;
} units[] = {
	{"ns", 1, PLUMB_NS},
	{"us", 1000, PLUMB_US},
	{"ms", 1000000, PLUMB_MS},
	{"s", 1000000000, PLUMB_S},
};

static const char *format(uint64_t ns, enum plumb_unit unit)
{
	static char text[64];

	assert_ptr_equal(plumb_format_time(ns, unit, text, sizeof(text)), text);
	return text;
}

/* What TEXT says, in billionths of UNIT's ns: without rounding, and leaving *end behind the digits.
 */
static unsigned __int128 read_back(const char *text, const char **end, uint64_t unit_ns)
{
	unsigned __int128 digits = 0, scale = 1;
	bool point = false;

	for (; *text == '.' || (*text >= '0' && *text <= '9'); text++) {
		if (*text == '.') {
			check(!point, "%s", text);
			point = true;
			continue;
		}
		digits = 10 * digits + (*text - '0');
		scale *= point ? 10 : 1;
	}
	*end = text;
	return digits * 1000000000 / scale * unit_ns;
}

/* Digits from the first that is not 0 to the last one. */
static int significant(const char *text)
{
	int n = 0, trailing = 0;

	for (; *text == '.' || (*text >= '0' && *text <= '9'); text++) {
		if (*text == '.' || (!n && *text == '0'))
			continue;
		n++;
		trailing = *text == '0' ? trailing + 1 : 0;
	}
	return n - trailing;
}

static void check_auto(uint64_t ns)
{
	const char *text = format(ns, PLUMB_AUTO), *unit;
	unsigned __int128 said, one = (unsigned __int128)ns * 1000000000;
	size_t u;

	read_back(text, &unit, 1);
	for (u = 0; u < LENGTH(units) && strcmp(unit, units[u].name); u++)
		;
	check(u < LENGTH(units), "%lu: '%s' has no unit", ns, text);
	said = read_back(text, &unit, units[u].ns);
	check(said >= one, "%lu: '%s' is low", ns, text);
	check(said - one <= one / 100, "%lu: '%s' is too high", ns, text);
	check(ns >= 1000 || said == one, "%lu: '%s' is not exact", ns, text);
	check(significant(text) <= 3, "%lu: '%s' has more digits than are true", ns, text);
	check(!u || ns >= units[u].ns || ns > units[u].ns - units[u].ns / 100,
	      "%lu: '%s' has too large a unit", ns, text);
	check(u == 3 || said < (unsigned __int128)units[u + 1].ns * 1000000000,
	      "%lu: '%s' has too small a unit", ns, text);
}

static void times_are_never_low(void **state)
{
	static const uint64_t steps[] = {0, 1, 2, 9, 10, 99, 100, 999};
	uint64_t seed = 20240229;

	for (uint64_t ns = 0; ns < 200000; ns++)
		check_auto(ns);
	for (uint64_t power = 1000; power < 1ULL << 63 && power <= 1000000000000000000; power *= 10)
		for (uint64_t m = 1; m <= 9; m++)
			for (size_t i = 0; i < LENGTH(steps); i++) {
				check_auto(m * power - steps[i]);
				check_auto(m * power + steps[i]);
			}
	for (int i = 0; i < 200000; i++)
		check_auto(next_random(&seed) >> (1 + i % 63));
	check_auto((1ULL << 63) - 1);
	check_auto(1ULL << 63);
	check_auto((1ULL << 63) + 1);
}

static void sizes_have_three_digits(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} known[] = {
		{0, "0"},
		{1, "1"},
		{999, "999"},
		{1023, "1023"},
		{1024, "1.00K"},
		{1029, "1.00K"},
		{1030, "1.01K"},
		{1536, "1.50K"},
		{10234, "9.99K"},
		{10235, "10.0K"},
		{102348, "99.9K"},
		{102349, "100K"},
		{1023 << 10, "1023K"},
		{(1023 << 10) + 511, "1023K"},
		{(1023 << 10) + 512, "1.00M"},
		{1 << 20, "1.00M"},
		{5ULL << 30, "5.00G"},
		{1ULL << 40, "1.00T"},
		{1ULL << 50, "1.00P"},
		{1ULL << 60, "1.00E"},
		{UINT64_MAX, "16.0E"},
	};
	char text[16];

	for (size_t i = 0; i < LENGTH(known); i++)
		check(!strcmp(plumb_format_size(known[i].bytes, text, sizeof(text)), known[i].text),
		      "%lu is %s, not %s", known[i].bytes, text, known[i].text);
}

static void units_change_where_four_digits_would_begin(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} known[] = {
		{0, "0ns"},
		{1, "1ns"},
		{999, "999ns"},
		{1000, "1.00us"},
		{1001, "1.01us"},
		{1010, "1.01us"},
		{9990, "9.99us"},
		{9991, "10.0us"},
		{99900, "99.9us"},
		{99901, "100us"},
		{999000, "999us"},
		{999001, "1.00ms"},
		{999999, "1.00ms"},
		{1000000, "1.00ms"},
		{1234567, "1.24ms"},
		{999000000, "999ms"},
		{999000001, "1.00s"},
		{1000000000, "1.00s"},
		{59999999999, "60.0s"},
		{999000000000, "999s"},
		{999000000001, "1000s"},
		{1ULL << 42, "4400s"},
		{1ULL << 63, "9230000000s"},
	};

	for (size_t i = 0; i < LENGTH(known); i++)
		check(!strcmp(format(known[i].ns, PLUMB_AUTO), known[i].text), "%lu is %s, not %s",
		      known[i].ns, format(known[i].ns, PLUMB_AUTO), known[i].text);
}

/* In a unit that was asked for there are three decimals, and none of ns. */
static void times_in_a_given_unit_are_never_low(void **state)
{
	uint64_t seed = 1, ns;
	const char *end;

	for (size_t u = 0; u < LENGTH(units); u++) {
		uint64_t step = u ? units[u].ns / 1000 : 1;

		for (int i = 0; i < 100000; i++) {
			ns = i < 2000 ? (uint64_t)i : next_random(&seed) >> (1 + i % 63);
			unsigned __int128 one = (unsigned __int128)ns * 1000000000;
			unsigned __int128 said =
				read_back(format(ns, units[u].unit), &end, units[u].ns);

			check(!*end, "'%s' has more than digits", format(ns, units[u].unit));
			check(said >= one, "%lu in %s: '%s' is low", ns, units[u].name,
			      format(ns, units[u].unit));
			check(said - one < (unsigned __int128)step * 1000000000,
			      "%lu in %s: '%s' is too high", ns, units[u].name,
			      format(ns, units[u].unit));
		}
	}
}

static void times_in_a_given_unit_have_its_decimals(void **state)
{
	assert_string_equal(format(0, PLUMB_NS), "0");
	assert_string_equal(format(1234567, PLUMB_NS), "1234567");
	assert_string_equal(format(0, PLUMB_S), "0.000");
	assert_string_equal(format(1234567, PLUMB_US), "1234.567");
	assert_string_equal(format(1234000, PLUMB_MS), "1.234");
	assert_string_equal(format(2500000000, PLUMB_S), "2.500");
	assert_string_equal(format(1, PLUMB_S), "0.001"); /* not 0: something was there */
	assert_string_equal(format(1234400, PLUMB_MS), "1.235");
}

static void a_text_that_is_too_long_keeps_its_end(void **state)
{
	char fits[] = "/usr/lib", not_quite[] = "/usr/lib";

	assert_string_equal(plumb_text_end(fits, 8), "/usr/lib");
	assert_string_equal(plumb_text_end(not_quite, 7), ".../lib");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_never_low),
		cmocka_unit_test(sizes_have_three_digits),
		cmocka_unit_test(units_change_where_four_digits_would_begin),
		cmocka_unit_test(times_in_a_given_unit_are_never_low),
		cmocka_unit_test(times_in_a_given_unit_have_its_decimals),
		cmocka_unit_test(a_text_that_is_too_long_keeps_its_end),
	};

	return run_all(tests);
}
