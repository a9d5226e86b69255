// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* history: no call is lost or moved when columns are merged; the lines of its axis are exact. */
#include <plumb/pictures/history.h>
#include "unit.h"

#include <string.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/pictures/picture.h>

#define P 6

/* A key with the stage of a call, as block-io-latency has. */
struct key {
	uint32_t pad, stage;
};

static struct plumb_row row_of(const struct key *key, struct plumb_bucket *bucket, uint64_t value,
			       uint64_t count)
{
	*bucket = (struct plumb_bucket){plumb_hist_index(value, P), count};
	return (struct plumb_row){
		.slot = 1,
		.key = key,
		.count = count,
		.dist = {.buckets = bucket, .n = 1, .precision = P, .min = value, .max = value},
	};
}

/* The calls of value V that the columns have from FROM to TO. */
static uint64_t calls_in(const struct plumb_history *h, uint64_t v, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < h->n; i++)
		for (size_t j = 0; j < h->columns[i].dist.n; j++)
			if (h->columns[i].dist.buckets[j].index == plumb_hist_index(v, P) &&
			    h->columns[i].from >= from && h->columns[i].to <= to)
				sum += h->columns[i].dist.buckets[j].count;
	return sum;
}

/* Intervals of different lengths; one of them has an outlier. */
static void merged_columns_have_every_call_at_its_time(void **state)
{
	static struct plumb_history h; /* large */
	const size_t n = 5 * HISTORY_COLUMNS + 7;
	uint64_t end = 0, outlier_from = 0, outlier_to = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		struct plumb_bucket buckets[3];
		struct plumb_row rows[] = {
			row_of(NULL, &buckets[0], 1000, i % 3),
			row_of(NULL, &buckets[1], 2000 + i, 1),
			row_of(NULL, &buckets[2], 1000000, i == 1234),
		};
		struct plumb_snapshot snap = {.rows = rows, .n = i == 1234 ? 3 : 2};
		uint64_t ns = 1000 + i % 7;

		if (i == 1234) {
			outlier_from = end;
			outlier_to = end + ns;
		}
		assert_int_equal(plumb_history_add(&h, &snap, P, ns), 0);
		end += ns;
		all += i % 3;
		assert_true(h.n <= HISTORY_COLUMNS);
	}
	assert_true(h.n >= HISTORY_COLUMNS / 2);
	assert_int_equal(h.columns[0].from, 0);
	assert_int_equal(h.columns[h.n - 1].to, end);
	for (size_t i = 1; i < h.n; i++)
		check(h.columns[i].from == h.columns[i - 1].to, "column %zu begins at %lu", i,
		      h.columns[i].from);
	assert_int_equal(calls_in(&h, 1000, 0, end), all);
	assert_int_equal(calls_in(&h, 1000000, 0, end), 1);
	for (size_t i = 0; i < h.n; i++)
		if (h.columns[i].dist.max == 1000000)
			check(h.columns[i].from <= outlier_from && h.columns[i].to >= outlier_to,
			      "the outlier is in %lu to %lu", h.columns[i].from, h.columns[i].to);
	plumb_history_free(&h);
	assert_int_equal(h.n, 0);
}

/* A constant load has the same number of calls in all columns but the last. */
static void columns_are_equally_wide(void **state)
{
	static struct plumb_history h; /* large */
	struct plumb_bucket bucket;
	struct plumb_row row = row_of(NULL, &bucket, 1000, 3);
	struct plumb_snapshot snap = {.rows = &row, .n = 1};

	for (size_t n = 1; n <= 9 * HISTORY_COLUMNS; n++) {
		const struct history_column *first = &h.columns[0], *c;
		uint64_t calls;

		assert_int_equal(plumb_history_add(&h, &snap, P, 10), 0);
		calls = plumb_dist_count(&first->dist);
		for (size_t i = 0; i < h.n; i++) {
			const bool is_last = i == h.n - 1;
			uint64_t width;

			c = &h.columns[i];
			width = c->to - c->from;
			check(width == first->to || (is_last && width < first->to),
			      "%zu intervals: column %zu is %lu wide, the first one %lu", n, i,
			      width, first->to);
			check(plumb_dist_count(&c->dist) == width / 10 * 3,
			      "%zu intervals: column %zu has %lu calls, the first one %lu", n, i,
			      plumb_dist_count(&c->dist), calls);
		}
	}
	plumb_history_free(&h);
}

static void stages_are_not_counted_again(void **state)
{
	const struct key whole = {.stage = 0}, stage = {.stage = 2};
	struct plumb_bucket buckets[2];
	struct plumb_row rows[] = {
		row_of(&whole, &buckets[0], 5000, 7),
		row_of(&stage, &buckets[1], 4000, 7),
	};
	struct plumb_snapshot snap = {
		.rows = rows, .n = 2, .stages = 4, .stage_at = offsetof(struct key, stage)};
	struct plumb_dist sum;

	assert_int_equal(plumb_history_sum(&sum, &snap, P), 0);
	assert_int_equal(plumb_dist_count(&sum), 7);
	assert_int_equal(sum.min, 5000);
	free(sum.buckets);
}

static void lines_are_whole_buckets(void **state)
{
	for (uint32_t p = PLUMB_HIST_MIN_PRECISION; p <= PLUMB_HIST_MAX_PRECISION; p++) {
		double place = -1;

		for (uint32_t i = 0; i < plumb_hist_buckets(p); i++) {
			const uint64_t lowest = plumb_bucket_lowest(i, p);
			const uint32_t line = plumb_line_of(i, p);

			check(plumb_line_lowest(line, p) <= lowest,
			      "precision %u, bucket %u: below its line", p, i);
			check(i + 1 == plumb_hist_buckets(p) ||
				      plumb_bucket_highest(i, p) < plumb_line_lowest(line + 1, p),
			      "precision %u, bucket %u: above its line", p, i);
			check(plumb_line_place(lowest, p) > place,
			      "precision %u, bucket %u: not above the last one", p, i);
			place = plumb_line_place(lowest, p);
			check(place >= line && place < line + 1,
			      "precision %u, bucket %u: at %g, not in line %u", p, i, place, line);
		}
		/* Octaves are equally high. */
		check(plumb_line_place(1 << 20, p) - plumb_line_place(1 << 19, p) ==
			      plumb_lines_per_octave(p),
		      "precision %u: an octave is %g lines", p,
		      plumb_line_place(1 << 20, p) - plumb_line_place(1 << 19, p));
	}
}

/* Labels of an axis of lines that are shown. */
static size_t labels_of(uint32_t first, uint32_t last, bool is_size)
{
	const struct picture_frame f = {0, 0, 100, 300};
	size_t size, n = 0;
	char *text;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	plumb_picture_values(&f, first, last, P, is_size, out);
	fclose(out);
	for (const char *g = text; (g = strstr(g, "data-major")); g++)
		n += strncmp(g + strlen("data-major=\"0\""), " style", 6) != 0;
	free(text);
	return n;
}

static void an_axis_has_two_labels(void **state)
{
	const uint32_t end = plumb_line_of(plumb_hist_buckets(P) - 2, P);

	for (int is_size = 0; is_size < 2; is_size++)
		for (uint32_t first = 0; first < end; first++)
			for (uint32_t last = first + 1; last < end; last++)
				check(labels_of(first, last, is_size) >= 2,
				      "lines %u to %u: %zu labels", first, last,
				      labels_of(first, last, is_size));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_columns_have_every_call_at_its_time),
		cmocka_unit_test(columns_are_equally_wide),
		cmocka_unit_test(stages_are_not_counted_again),
		cmocka_unit_test(lines_are_whole_buckets),
		cmocka_unit_test(an_axis_has_two_labels),
	};

	return run_all(tests);
}
