// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* parse: what is taken, what is refused, and that a refusal writes nothing. */
#include "unit.h"
#include <errno.h>
#include <plumb/core/parse.h>

#define UNTOUCHED 0xdeadbeefcafef00dULL
#define ANY       INT32_MIN /* refused: which of the two errors is a matter of taste */

typedef int (*parser)(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* What one parser makes of TEXT: VALUE, or ERROR. */
struct sample {
	const char *text;
	int error;
	uint64_t value;
};

static int to_fixed_6(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	return plumb_parse_fixed(text, 6, min, max, value);
}

static void try(parser parse, uint64_t min, uint64_t max, const struct sample *s)
{
	uint64_t value = UNTOUCHED;
	int err = parse(s->text, min, max, &value);

	if (!s->error) {
		check(!err, "'%s' is refused: %d", s->text, err);
		check(value == s->value, "'%s' is read as %lu, not %lu", s->text, value, s->value);
		return;
	}
	check(err == -EINVAL || err == -ERANGE, "'%s' is not refused: %d", s->text, err);
	check(s->error == ANY || err == s->error, "'%s' is refused with %d, not %d", s->text, err,
	      s->error);
	check(value == UNTOUCHED, "'%s' is refused, but wrote %lu", s->text, value);
}

static void try_all(parser parse, uint64_t min, uint64_t max, const struct sample *samples,
		    size_t n)
{
	for (size_t i = 0; i < n; i++)
		try(parse, min, max, &samples[i]);
}

static void refuse_all(parser parse, int error, const char *const *texts)
{
	for (; *texts; texts++)
		try(parse, 0, UINT64_MAX, &(struct sample){*texts, error, 0});
}

#define refuses(parse, error, ...)                                                                 \
	refuse_all(parse, error, (const char *const[]){__VA_ARGS__, NULL})

static void refuses_junk(parser parse)
{
	refuses(parse, -EINVAL, "", " ", "\n", "abc", "-1", "+1", "-0", " 1", "1 ", "1\n", "1x",
		"0x10", "1e5", "1_000", "1,5", ".", "1.", "1..2", "1.2.3", "inf", "1%", "\u0661",
		"1\xff");
}

static void junk_is_refused_by_all(void **state)
{
	static const parser parsers[] = {plumb_parse_u64, plumb_parse_seconds, to_fixed_6,
					 plumb_parse_size, plumb_parse_duration};

	for (size_t p = 0; p < LENGTH(parsers); p++)
		refuses_junk(parsers[p]);
}

static void decimal_numbers(void **state)
{
	static const struct sample samples[] = {
		{"0", 0, 0},
		{"1", 0, 1},
		{"1\0.5", 0, 1}, /* the text ends at the NUL */
		{"007", 0, 7},
		{"00000000000000000000000000000000000000012", 0, 12},
		{"9223372036854775808", 0, 1ULL << 63},
		{"18446744073709551615", 0, UINT64_MAX},
		{"99999999999999999999x", ANY, 0},
	};

	try_all(plumb_parse_u64, 0, UINT64_MAX, samples, LENGTH(samples));
	refuses(plumb_parse_u64, -EINVAL, "0.5", "64K", "10s");
	/* 2^64; 2^65, which would wrap to 0; one that would wrap twice */
	refuses(plumb_parse_u64, -ERANGE, "18446744073709551616", "36893488147419103232",
		"184467440737095516160", "100000000000000000000000000000000000000000000");
}

static void ends_of_a_range_belong_to_it(void **state)
{
	static const struct sample one_to_ten[] = {
		{"0", -ERANGE, 0}, {"1", 0, 1},        {"2", 0, 2},
		{"10", 0, 10},     {"11", -ERANGE, 0}, {"18446744073709551615", -ERANGE, 0},
	};
	static const struct sample only_seven[] = {
		{"6", -ERANGE, 0}, {"7", 0, 7}, {"8", -ERANGE, 0}};
	static const struct sample only_the_last[] = {{"18446744073709551614", -ERANGE, 0},
						      {"18446744073709551615", 0, UINT64_MAX}};
	static const struct sample seconds[] = {
		{"0", -ERANGE, 0},    {"0.000000000", -ERANGE, 0},    {"0.000000001", 0, 1},
		{"1", 0, 1000000000}, {"1.000000000", 0, 1000000000}, {"1.000000001", -ERANGE, 0}};
	static const struct sample sizes[] = {{"1023", -ERANGE, 0},
					      {"1K", 0, 1024},
					      {"1024", 0, 1024},
					      {"2K", 0, 2048},
					      {"2049", -ERANGE, 0}};
	static const struct sample durations[] = {{"999ns", -ERANGE, 0},
						  {"1us", 0, 1000},
						  {"1ms", 0, 1000000},
						  {"1.000001ms", -ERANGE, 0}};
	static const struct sample percents[] = {
		{"0", -ERANGE, 0},          {"0.000001", 0, 1},
		{"100", 0, 100000000},      {"100.000000", 0, 100000000},
		{"100.000001", -ERANGE, 0}, {"101", -ERANGE, 0}};

	try_all(plumb_parse_u64, 1, 10, one_to_ten, LENGTH(one_to_ten));
	try_all(plumb_parse_u64, 7, 7, only_seven, LENGTH(only_seven));
	try_all(plumb_parse_u64, UINT64_MAX, UINT64_MAX, only_the_last, LENGTH(only_the_last));
	try_all(plumb_parse_seconds, 1, 1000000000, seconds, LENGTH(seconds));
	try_all(plumb_parse_size, 1024, 2048, sizes, LENGTH(sizes));
	try_all(plumb_parse_duration, 1000, 1000000, durations, LENGTH(durations));
	try_all(to_fixed_6, 1, 100000000, percents, LENGTH(percents));
}

static void decimal_fractions(void **state)
{
	static const struct sample samples[] = {
		{"0", 0, 0},
		{"99.9", 0, 99900000},
		{"99.99", 0, 99990000},
		{"99.999999", 0, 99999999},
		{"0.000001", 0, 1},
		{"050.50", 0, 50500000},
		{".5", 0, 500000},
		{"18446744073709.551615", 0, UINT64_MAX},
	};

	try_all(to_fixed_6, 0, UINT64_MAX, samples, LENGTH(samples));
	/* a decimal too many, even if it is 0 */
	refuses(to_fixed_6, -EINVAL, "0.0000001", "0.0000000", "99.9999999");
	refuses(to_fixed_6, -ERANGE, "18446744073709.551616", "18446744073710",
		"18446744073709551615");
}

static void seconds(void **state)
{
	static const struct sample samples[] = {
		{"0", 0, 0},
		{"1", 0, 1000000000},
		{"0.25", 0, 250000000},
		{".25", 0, 250000000},
		{"0.000000001", 0, 1},
		{"1.234567891", 0, 1234567891},
		{"18446744073.709551615", 0, UINT64_MAX},
	};

	try_all(plumb_parse_seconds, 0, UINT64_MAX, samples, LENGTH(samples));
	refuses(plumb_parse_seconds, -EINVAL, "0.0000000001", "1.2345678912", "1s", "1ms", "1:30");
	refuses(plumb_parse_seconds, -ERANGE, "18446744073.709551616", "18446744073.71",
		"18446744074", "18446744073709551616");
}

static void longer_times_have_minutes_and_hours(void **state)
{
	static const struct sample samples[] = {
		{"1.5ms", 0, 1500000},
		{"90s", 0, 90000000000},
		{"1.5m", 0, 90000000000},
		{"2h", 0, 7200000000000},
		{"5124095h", 0, 18446742000000000000ULL},
	};

	try_all(plumb_parse_span, 0, UINT64_MAX, samples, LENGTH(samples));
	refuses(plumb_parse_span, -EINVAL, "5", "1d", "1min", "1h30m");
	refuses(plumb_parse_span, -ERANGE, "5124096h");
	refuses_junk(plumb_parse_span);
}

static void durations_with_their_unit(void **state)
{
	static const struct sample samples[] = {
		{"0ns", 0, 0},
		{"1ns", 0, 1},
		{"10us", 0, 10000},
		{"1.5ms", 0, 1500000},
		{".5ms", 0, 500000},
		{"2s", 0, 2000000000},
		{"0.000000001s", 0, 1},
		{"1.001us", 0, 1001},
		{"18446744073709551615ns", 0, UINT64_MAX},
		{"18446744073.709551615s", 0, UINT64_MAX},
	};

	try_all(plumb_parse_duration, 0, UINT64_MAX, samples, LENGTH(samples));
	/* no unit */
	refuses(plumb_parse_duration, -EINVAL, "0", "5", "1.5");
	/* not a unit, or not so written */
	refuses(plumb_parse_duration, -EINVAL, "5m", "5h", "5S", "5MS", "5Ms", "5US", "5 ms",
		"5ms ", "5mss", "5sec", "5msus", "5ms5", "\u00b5s");
	/* no number */
	refuses(plumb_parse_duration, -EINVAL, "ns", "ms", "s", ".s", "-1ms", "+1ms", "1e3ns",
		"0x1ns");
	/* a number that is none */
	refuses(plumb_parse_duration, -EINVAL, "1.ms", "1..5ms", "1.2.3ms");
	/* below a nanosecond */
	refuses(plumb_parse_duration, -EINVAL, "1.5ns", "0.0001us", "1.0000001ms", "0.0000000001s");
	/* too long */
	refuses(plumb_parse_duration, -ERANGE, "18446744073709551616ns", "18446744073709552us",
		"18446744073710ms", "18446744074s", "18446744073.709551616s");
}

static void sizes(void **state)
{
	static const struct sample samples[] = {
		{"0", 0, 0},
		{"0K", 0, 0},
		{"1", 0, 1},
		{"1K", 0, 1024},
		{"64K", 0, 65536},
		{"3M", 0, 3 << 20},
		{"2G", 0, 2ULL << 30},
		{"17179869183G", 0, UINT64_MAX - (1 << 30) + 1},
		{"18014398509481983K", 0, UINT64_MAX - 1023},
		{"18446744073709551615", 0, UINT64_MAX},
	};

	try_all(plumb_parse_size, 0, UINT64_MAX, samples, LENGTH(samples));
	refuses(plumb_parse_size, -EINVAL, "K", "64k", "1m", "1g", "1T", "1KB", "1KiB", "1KK", "1B",
		"1 K", "1.5K", ".5K", "-1K");
	/* 2^64 */
	refuses(plumb_parse_size, -ERANGE, "17179869184G", "17592186044416M", "18014398509481984K",
		"18446744073709551616");
}

/* --- lists --- */

struct items {
	size_t n;
	char texts[8][16];
	int refuse; /* what the item "no" returns */
};

static int take(const char *item, void *context)
{
	struct items *items = context;

	assert_true(items->n < LENGTH(items->texts));
	snprintf(items->texts[items->n++], sizeof(items->texts[0]), "%s", item);
	return strcmp(item, "no") ? 0 : items->refuse;
}

static void lists_hand_over_their_items_in_order(void **state)
{
	struct items items = {};
	const char text[] = "a,bc, d ,e=f";

	assert_int_equal(plumb_parse_list(text, take, &items), 0);
	assert_string_equal(text, "a,bc, d ,e=f");
	assert_int_equal(items.n, 4);
	assert_string_equal(items.texts[0], "a");
	assert_string_equal(items.texts[1], "bc");
	assert_string_equal(items.texts[2], " d "); /* blanks are the item's matter */
	assert_string_equal(items.texts[3], "e=f");
	items.n = 0;
	assert_int_equal(plumb_parse_list("alone", take, &items), 0);
	assert_int_equal(items.n, 1);
}

static void empty_items_are_refused(void **state)
{
	static const char *const texts[] = {"",   ",",  ",,",   ",,,,,,,,,",
					    "a,", ",a", "a,,b", "a,b,,"};
	struct items items;

	for (size_t i = 0; i < LENGTH(texts); i++) {
		items = (struct items){};
		check(plumb_parse_list(texts[i], take, &items) == -EINVAL, "'%s'", texts[i]);
		for (size_t j = 0; j < items.n; j++)
			check(*items.texts[j], "an empty item of '%s' was handed over", texts[i]);
	}
}

static void a_refused_item_ends_the_list(void **state)
{
	static const int results[] = {-ENOENT, -1, 1, 42};

	for (size_t i = 0; i < LENGTH(results); i++) {
		struct items items = {.refuse = results[i]};

		assert_int_equal(plumb_parse_list("a,no,b", take, &items), results[i]);
		assert_int_equal(items.n, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(junk_is_refused_by_all),
		cmocka_unit_test(decimal_numbers),
		cmocka_unit_test(ends_of_a_range_belong_to_it),
		cmocka_unit_test(decimal_fractions),
		cmocka_unit_test(seconds),
		cmocka_unit_test(durations_with_their_unit),
		cmocka_unit_test(longer_times_have_minutes_and_hours),
		cmocka_unit_test(sizes),
		cmocka_unit_test(lists_hand_over_their_items_in_order),
		cmocka_unit_test(empty_items_are_refused),
		cmocka_unit_test(a_refused_item_ends_the_list),
	};

	return run_all(tests);
}
