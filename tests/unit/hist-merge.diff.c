// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* hist-merge: how often the intervals of --diff contain the true change. */
#include "unit.h"
#include "results/diff.h"
#include <math.h>
#include <plumb/bpf/hist/hist.h>

#define PAIRS 100

static uint64_t state_of_random = 1234567;

static double uniform(void)
{
	return ((next_random(&state_of_random) >> 11) + 0.5) / (1ULL << 53);
}

static double normal(void)
{
	double radius = sqrt(-2 * log(uniform()));

	return radius * cos(2 * M_PI * uniform());
}

/* Reports of 100 calls each; those of a report are longer or shorter together by MOOD. */
static void fill(struct reading *r, size_t reports, double scale, double mood)
{
	struct line_row row = {.key = {"{}", 2}, .count = 100};
	struct line l = {
		.precision = 6, .rows = &row, .n_rows = 1, .count = 100, .measures = 1 << FIRST};
	struct line_measure *m = &row.measures[FIRST];
	uint64_t *dense = calloc(plumb_hist_buckets(6), sizeof(*dense));

	*r = (struct reading){.merge = {.max_rows = 1, .blocks = true}};
	for (size_t i = 0; i < reports; i++) {
		double factor = scale * exp(mood * normal());

		*m = (struct line_measure){.count = 100, .max = 1ULL << 41};
		memset(dense, 0, plumb_hist_buckets(6) * sizeof(*dense));
		for (size_t j = 0; j < 100; j++)
			dense[plumb_hist_index(factor * exp(normal()), 6)]++;
		m->n = plumb_buckets_pack(dense, plumb_hist_buckets(6), &l.buckets);
		assert_null(merge_add(&r->merge, &l, 0));
		free(l.buckets);
	}
	free(dense);
}

static struct diff_side side(struct reading *r)
{
	size_t n, blocks = merge_blocks(&r->merge);
	struct merged_row **rows = merge_rows(&r->merge, UINT64_MAX, &n);
	struct diff_side s = {.row = rows[0], .blocks = blocks < DIFF_LEAST_BLOCKS ? 0 : blocks};

	free(rows);
	return s;
}

struct tally {
	size_t contain, slower, faster, few;
};

/* PAIRS comparisons of percentile P, the second side CHANGE per cent slower. */
static struct tally compare(size_t reports, double mood, double change, uint64_t p)
{
	struct tally t = {0};

	for (size_t i = 0; i < PAIRS; i++) {
		struct reading before, after;
		struct diff_side a, b;
		struct diff_change c;

		fill(&before, reports, 20000, mood);
		fill(&after, reports, 20000 * (1 + change / 100), mood);
		a = side(&before);
		b = side(&after);
		c = diff_judge(&a, &b, p);
		t.contain += c.low <= change && change <= c.high;
		t.slower += c.verdict == DIFF_SLOWER;
		t.faster += c.verdict == DIFF_FASTER;
		t.few += c.verdict == DIFF_TOO_FEW;
		merge_free(&before.merge);
		merge_free(&after.merge);
	}
	print_message(
		"# %zu reports, mood %g, change %g, p%g: %zu contain it, %zu slower, %zu faster\n",
		reports, mood, change, p / 1e6, t.contain, t.slower, t.faster);
	return t;
}

/* Of 100 intervals of 95 %, at least 89 contain the change (all but 1 time in 100). */
static void intervals_of_independent_calls_contain_the_change(void **state)
{
	assert_between(compare(5, 0, 0, 50000000).contain, 89, 100);
	assert_between(compare(5, 0, 10, 90000000).contain, 89, 100);
	assert_between(compare(7, 0, -20, 99000000).contain, 89, 100);
}

static void intervals_of_like_calls_contain_it_by_blocks(void **state)
{
	struct tally t;

	t = compare(40, 0.2, 0, 50000000);
	assert_between(t.contain, 88, 100);
	assert_between(t.slower + t.faster, 0, 12);
	t = compare(40, 0.2, 15, 90000000);
	assert_between(t.contain, 88, 100);
	assert_between(t.faster, 0, 1);
	assert_between(compare(80, 0.2, 0, 50000000).contain, 88, 100);
}

static void a_large_change_is_found(void **state)
{
	assert_between(compare(40, 0.05, 30, 50000000).slower, 97, 100);
	assert_between(compare(5, 0, -40, 50000000).faster, 97, 100);
}

static void too_few_calls_have_no_verdict(void **state)
{
	assert_int_equal(compare(5, 0, 100, 99900000).few, PAIRS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_of_independent_calls_contain_the_change),
		cmocka_unit_test(intervals_of_like_calls_contain_it_by_blocks),
		cmocka_unit_test(a_large_change_is_found),
		cmocka_unit_test(too_few_calls_have_no_verdict),
	};

	return run_all(tests);
}
