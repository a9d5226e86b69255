// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* split: the bands of a row, and that all adds up. */
#include "unit.h"
#include <math.h>
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
	json_t *j = plumb_splitting.json(&(struct plumb_report){.run = &run}, &r);

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
	json_t *j = plumb_splitting.json(&(struct plumb_report){.run = &run}, &r);

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
	json_t *j = plumb_splitting.json(&(struct plumb_report){.run = &run}, &r);

	assert_int_equal(in_band(j, 0), 7);
	assert_int_equal(in_band(j, 4), 0);
	json_decref(j);
	free_row(&r);
}

static void nothing_adds_up_to_nothing(void **state)
{
	struct plumb_row r = row_of(NULL, 0);
	json_t *j = plumb_splitting.json(&(struct plumb_report){.run = &run}, &r);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(number(j, "count"), 0);
	assert_int_equal(number(j, "sum"), 0);
	assert_int_equal(plumb_splitting.print(&(struct plumb_report){.run = &run}, &r, out), 0);
	fclose(out);
	assert_string_equal(text, "");
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
	j = plumb_splitting.json(&(struct plumb_report){.run = &run}, &r);
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
	static const struct {
		const char *name;
		double share;
	} parts[] = {
		{"on-cpu", 51.6}, {"irq", 25.8}, {"pree", 3.2}, {"block", 6.5}, {"runq", 12.9}};
	char name[20];
	json_t *j, *led;

	for (int i = 0; i < PLUMB_ALL_PARTS; i++) {
		r.split[1].ns[i] = 1000 << i;
		r.split[1].led[i] = 1 << i;
	}
	j = plumb_splitting.json(&(struct plumb_report){.run = &run}, &r);
	led = json_object_get(j, "mostly");
	assert_int_equal(number(j, "preempted"), 1000 << PLUMB_PREEMPTED);
	assert_int_equal(number(j, "blocked"), 1000 << PLUMB_BLOCKED);
	assert_int_equal(number(j, "runq"), 1000 << PLUMB_RUNQ);
	assert_int_equal(number(j, "irq"), 1000 << PLUMB_IRQ);
	assert_int_equal(number(j, "on_cpu"), 1000 << PLUMB_ON_CPU);
	assert_int_equal(number(led, "preempted"), 1 << PLUMB_PREEMPTED);
	assert_int_equal(number(led, "runq"), 1 << PLUMB_RUNQ);
	assert_int_equal(number(j, "sum"), 31000);
	assert_int_equal(number(j, "count"), 31);
	for (size_t i = 0; i < LENGTH(parts); i++) {
		assert_true(plumb_splitting.name(&tool, i, name, sizeof(name)));
		assert_string_equal(name, parts[i].name);
		check(fabs(plumb_splitting.share(&run, &r, i) - parts[i].share) < 0.1, "%s: %f",
		      name, plumb_splitting.share(&run, &r, i));
	}
	assert_false(plumb_splitting.name(&tool, LENGTH(parts), name, sizeof(name)));
	json_decref(j);
	free_row(&r);
}

/* Neighbours that are alike are one; what is like the row is not printed. */
static void bands_that_differ_are_printed(void **state)
{
	const uint64_t n[] = {90, 10};
	struct plumb_row r = row_of(n, 2);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(plumb_splitting.print(&(struct plumb_report){.run = &run}, &r, out), 0);
	r.split[1].led[PLUMB_ON_CPU] = 0;
	r.split[1].led[PLUMB_BLOCKED] = 10;
	r.split[1].ns[PLUMB_ON_CPU] = 8000;
	r.split[1].ns[PLUMB_BLOCKED] = 192000;
	assert_int_equal(plumb_splitting.print(&(struct plumb_report){.run = &run}, &r, out), 2);
	fclose(out);
	assert_string_equal(text, "  p0-90, 90 calls: on-cpu 100 %\n"
				  "  above p90, 10 calls: blocked 96 %\n");
	free(text);
	free_row(&r);
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
	json_t *j = plumb_splitting.json(&(struct plumb_report){.run = &not }, &r),
	       *seen = plumb_splitting.json(&(struct plumb_report){.run = &is}, &r);

	assert_true(json_is_null(json_object_get(j, "return")));
	assert_true(json_is_null(json_object_get(json_object_get(j, "mostly"), "return")));
	assert_true(json_is_null(json_object_get(j, "runq")));
	assert_true(json_is_integer(json_object_get(j, "blocked")));
	assert_true(json_is_integer(json_object_get(seen, "return")));
	assert_true(isnan(plumb_splitting.share(&not, &r, 4)));
	assert_true(isnan(plumb_splitting.share(&not, &r, 5)));
	assert_false(isnan(plumb_splitting.share(&is, &r, 5)));
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
		cmocka_unit_test(bands_that_differ_are_printed),
		cmocka_unit_test(what_nobody_looks_for_is_null),
	};

	return run_all(tests);
}
