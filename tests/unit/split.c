// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* split: the bands of a row, and that all adds up. */
#include "unit.h"
#include <string.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/report.h>
#include <plumb/split/split.h>

#define P 6

static const struct plumb_tool tool;
static const struct plumb_run run = {.tool = &tool};

/* A row of buckets in which N[i] calls took I * 1000 ns or so each, with room for where. */
static struct plumb_row row_of(const uint64_t *n, size_t buckets)
{
	struct plumb_row r = {.slot = 1};

	r.dist = (struct plumb_dist){.precision = P, .min = 1000, .max = buckets * 1000};
	r.dist.buckets = calloc(buckets + 1, sizeof(*r.dist.buckets));
	r.split = calloc(buckets + 1, sizeof(*r.split));
	for (size_t i = 0; i < buckets; i++) {
		uint32_t index = plumb_hist_index((i + 1) * 1000, P);

		if (n[i])
			r.dist.buckets[r.dist.n++] = (struct plumb_bucket){index, n[i]};
		r.split[r.n_split].bucket = index;
		r.split[r.n_split].led[PLUMB_ON_CPU] = n[i];
		r.split[r.n_split++].ns[PLUMB_ON_CPU] = n[i] * (i + 1) * 1000;
		r.count += n[i];
	}
	return r;
}

static void free_row(struct plumb_row *r)
{
	free(r->dist.buckets);
	free(r->split);
}

static json_int_t number(json_t *j, const char *name)
{
	return json_integer_value(json_object_get(j, name));
}

static json_int_t in_band(json_t *split, size_t i)
{
	return number(json_array_get(json_object_get(split, "bands"), i), "count");
}

static void bands_end_at_percentiles(void **state)
{
	const uint64_t n[] = {500, 400, 90, 9, 1};
	struct plumb_row r = row_of(n, 5);
	json_t *j = plumb_splitting.json(&run, &r);

	for (size_t i = 0; i < 5; i++)
		assert_int_equal(in_band(j, i), n[i]);
	assert_int_equal(number(j, "count"), 1000);
	assert_int_equal(number(j, "sum"), (500 + 800 + 270 + 36 + 5) * 1000);
	json_decref(j);
	free_row(&r);
}

static void a_bucket_is_not_cut(void **state)
{
	/* The 50th percentile lies in the second, the 90th and all above in the third. */
	const uint64_t n[] = {490, 20, 490};
	struct plumb_row r = row_of(n, 3);
	json_t *j = plumb_splitting.json(&run, &r);

	assert_int_equal(in_band(j, 0), 510);
	assert_int_equal(in_band(j, 1), 490);
	for (size_t i = 2; i < 5; i++)
		assert_int_equal(in_band(j, i), 0);
	json_decref(j);
	free_row(&r);
}

static void one_bucket_is_all_up_to_the_median(void **state)
{
	const uint64_t n[] = {7};
	struct plumb_row r = row_of(n, 1);
	json_t *j = plumb_splitting.json(&run, &r);

	assert_int_equal(in_band(j, 0), 7);
	assert_int_equal(in_band(j, 4), 0);
	json_decref(j);
	free_row(&r);
}

static void nothing_adds_up_to_nothing(void **state)
{
	struct plumb_row r = row_of(NULL, 0);
	json_t *j = plumb_splitting.json(&run, &r);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(number(j, "count"), 0);
	assert_int_equal(number(j, "sum"), 0);
	plumb_splitting.print(&run, &r, out);
	fclose(out);
	/* The heading alone. */
	assert_ptr_equal(strchr(text, '\n'), text + size - 1);
	free(text);
	json_decref(j);
	free_row(&r);
}

/* As a report of an interval has it: the time has come, its call will be in the next. */
static void time_without_a_call_is_kept(void **state)
{
	const uint64_t n[] = {10, 0};
	struct plumb_row r = row_of(n, 2);
	json_t *j;

	r.split[1].ns[PLUMB_BLOCKED] = 1900;
	j = plumb_splitting.json(&run, &r);
	assert_int_equal(number(j, "count"), 10);
	assert_int_equal(number(j, "sum"), 10 * 1000 + 1900);
	assert_int_equal(number(j, "blocked"), 1900);
	json_decref(j);
	free_row(&r);
}

static void the_parts_are_told_apart(void **state)
{
	const uint64_t n[] = {0, 0};
	struct plumb_row r = row_of(n, 2);
	char *text = NULL, *line;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *j, *led;

	for (int i = 0; i < PLUMB_ALL_PARTS; i++) {
		r.split[1].ns[i] = 1000 << i;
		r.split[1].led[i] = 1 << i;
	}
	j = plumb_splitting.json(&run, &r);
	led = json_object_get(j, "mostly");
	assert_int_equal(number(j, "preempted"), 1000 << PLUMB_PREEMPTED);
	assert_int_equal(number(j, "blocked"), 1000 << PLUMB_BLOCKED);
	assert_int_equal(number(j, "runq"), 1000 << PLUMB_RUNQ);
	assert_int_equal(number(j, "on_cpu"), 1000 << PLUMB_ON_CPU);
	assert_int_equal(number(led, "preempted"), 1 << PLUMB_PREEMPTED);
	assert_int_equal(number(led, "runq"), 1 << PLUMB_RUNQ);
	assert_int_equal(number(j, "sum"), 15000);
	assert_int_equal(number(j, "count"), 15);
	plumb_splitting.print(&run, &r, out);
	fclose(out);
	line = strstr(text, "\n  all ");
	assert_non_null(line);
	assert_string_equal(line + 1,
			    "  all             15  53.3%       8   6.7%       1  13.3%       2"
			    "  26.7%       4\n");
	for (line = text; *line; line = strchr(line, '\n') + 1)
		assert_true(strchr(line, '\n') - line <= 80);
	free(text);
	json_decref(j);
	free_row(&r);
}

/* More calls than a line has room for. */
static void no_number_makes_a_line_longer(void **state)
{
	static const struct {
		uint64_t n;
		const char *all, *led;
	} cases[] = {
		{9999999, "  9999999", "9999999"},    {10000000, " 10000000", "    10M"},
		{12345678, " 12345678", " 12.35M"},   {999999999, "999999999", "  1000M"},
		{1000000000, "    1000M", "  1000M"}, {9999900000, "      10G", "    10G"},
		{9999499999, "    9999M", "  9999M"}, {UINT64_MAX, "   18.45E", " 18.45E"},
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		const uint64_t n[] = {1};
		struct plumb_row r = row_of(n, 1);
		char *text = NULL, expected[128];
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		r.split[0].led[PLUMB_ON_CPU] = cases[i].n;
		plumb_splitting.print(&run, &r, out);
		fclose(out);
		snprintf(expected, sizeof(expected),
			 "\n  all      %s 100.0%% %s   0.0%%       0   0.0%%       0   0.0%%"
			 "       0\n",
			 cases[i].all, cases[i].led);
		check(strstr(text, expected), "not:%sbut:\n%s", expected, text);
		free(text);
		free_row(&r);
	}
}

/* Nobody looks for waits on the way out, nor for another part. */
static void what_nobody_looks_for_is_null(void **state)
{
	static const uint32_t unseen = 1U << PLUMB_RUNQ;
	static const struct plumb_tool divides = {.measure.parts = plumb_return_parts,
						  .measure.n_parts = PLUMB_RETURN_PARTS + 1,
						  .measure.unseen_parts = &unseen};
	const struct plumb_run not = {.tool = &divides, .no_return = "--no-return"},
			       is = {.tool = &divides, .no_return = ""};
	const uint64_t n[] = {7};
	struct plumb_row r = row_of(n, 1);
	json_t *j = plumb_splitting.json(&not, &r), *seen = plumb_splitting.json(&is, &r);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_true(json_is_null(json_object_get(j, "return")));
	assert_true(json_is_null(json_object_get(json_object_get(j, "mostly"), "return")));
	assert_true(json_is_null(json_object_get(j, "runq")));
	assert_true(json_is_integer(json_object_get(j, "blocked")));
	assert_true(json_is_integer(json_object_get(seen, "return")));
	plumb_splitting.print(&not, &r, out);
	fclose(out);
	check(strstr(text, "0.0%    0      -    -      -    -\n"), "%s", text);
	free(text);
	json_decref(j);
	json_decref(seen);
	free_row(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bands_end_at_percentiles),
		cmocka_unit_test(a_bucket_is_not_cut),
		cmocka_unit_test(one_bucket_is_all_up_to_the_median),
		cmocka_unit_test(nothing_adds_up_to_nothing),
		cmocka_unit_test(time_without_a_call_is_kept),
		cmocka_unit_test(the_parts_are_told_apart),
		cmocka_unit_test(no_number_makes_a_line_longer),
		cmocka_unit_test(what_nobody_looks_for_is_null),
	};

	return run_all(tests);
}
