// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* histogram: however wide a distribution, all of it is drawn. */
#include "unit.h"
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/report.h>

#define RANGE (1ULL << PLUMB_HIST_RANGE_BITS)

/* The row of the values V[0..n), each recorded COUNT times. */
static struct plumb_row row_of(const uint64_t *v, size_t n, uint64_t count, uint32_t precision)
{
	uint64_t *dense = calloc(plumb_hist_buckets(precision), sizeof(*dense));
	struct plumb_row row = {.dist = {.precision = precision, .min = UINT64_MAX}};

	for (size_t i = 0; i < n; i++) {
		dense[plumb_hist_index(v[i], precision)] += count;
		row.count += count;
		row.dist.min = v[i] < row.dist.min ? v[i] : row.dist.min;
		row.dist.max = v[i] > row.dist.max ? v[i] : row.dist.max;
	}
	row.dist.n = plumb_buckets_pack(dense, plumb_hist_buckets(precision), &row.dist.buckets);
	free(dense);
	return row;
}

/* Draws the histogram in ns, and reads it again. */
static void check_histogram(const char *what, const uint64_t *v, size_t n, uint64_t count)
{
	unsigned long long from, to, calls, sum, next;
	char *text, *line, *rest, bar[64];
	size_t size, lines;
	FILE *f;

	for (uint32_t p = PLUMB_HIST_MIN_PRECISION; p <= PLUMB_HIST_MAX_PRECISION; p++) {
		struct plumb_row row = row_of(v, n, count, p);

		f = open_memstream(&text, &size);
		plumb_report_histogram(&row, PLUMB_NS, f);
		fclose(f);
		sum = next = lines = 0;
		for (rest = text; *rest; rest = line + strlen(line) + 1) {
			line = rest;
			*strchr(line, '\n') = 0;
			check(sscanf(line, " %llu .. %llu %llu |%63[# ]|", &from, &to, &calls,
				     bar) == 4,
			      "%s, precision %u: '%s'", what, p, line);
			check(lines || from <= row.dist.min,
			      "%s, precision %u: begins at %llu, above %lu", what, p, from,
			      row.dist.min);
			check(!lines || from == next, "%s, precision %u: a gap before '%s'", what,
			      p, line);
			check(from <= to, "%s, precision %u: '%s'", what, p, line);
			check(!calls == !strchr(bar, '#'), "%s, precision %u: '%s'", what, p, line);
			next = to + 1;
			sum += calls;
			lines++;
		}
		check(sum == row.count, "%s, precision %u: %llu of %lu calls are drawn", what, p,
		      sum, row.count);
		check(to >= row.dist.max, "%s, precision %u: ends at %llu, below %lu", what, p, to,
		      row.dist.max);
		check(lines <= PLUMB_HIST_RANGE_BITS + 2, "%s, precision %u: %zu lines", what, p,
		      lines);
		free(text);
		free(row.dist.buckets);
	}
}

static void one_value_is_drawn(void **state)
{
	static const uint64_t alone[] = {0, 1, 63, 64, 1000, 1000003, RANGE - 1};

	for (size_t i = 0; i < LENGTH(alone); i++)
		check_histogram("one value", &alone[i], 1, 1000);
}

static void every_width_is_drawn_whole(void **state)
{
	uint64_t v[64];

	/* One value an octave, from 2^low to 2^high. */
	for (uint32_t low = 0; low < PLUMB_HIST_RANGE_BITS; low++)
		for (uint32_t high = low; high < PLUMB_HIST_RANGE_BITS; high++) {
			for (uint32_t e = low; e <= high; e++)
				v[e - low] = (1ULL << e) + (1ULL << e) / 3;
			check_histogram("octaves", v, high - low + 1, 7);
		}
}

static void two_values_far_apart_are_drawn(void **state)
{
	uint64_t v[2];

	for (uint32_t low = 0; low < PLUMB_HIST_RANGE_BITS; low++)
		for (uint32_t high = low; high < PLUMB_HIST_RANGE_BITS; high++) {
			v[0] = 1ULL << low;
			v[1] = 1ULL << high;
			check_histogram("two values", v, 2, 1);
		}
}

static void saturated_values_are_drawn(void **state)
{
	static const uint64_t beyond[] = {RANGE, RANGE + 1, 5 * RANGE, 1ULL << 50};
	uint64_t v[2];

	for (size_t i = 0; i < LENGTH(beyond); i++) {
		check_histogram("saturated", &beyond[i], 1, 23);
		v[0] = 1000;
		v[1] = beyond[i];
		check_histogram("saturated, and not", v, 2, 23);
	}
}

static void nothing_is_drawn_of_nothing(void **state)
{
	struct plumb_row row = {.dist.precision = 6};
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	plumb_report_histogram(&row, PLUMB_AUTO, f);
	fclose(f);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_value_is_drawn),
		cmocka_unit_test(every_width_is_drawn_whole),
		cmocka_unit_test(two_values_far_apart_are_drawn),
		cmocka_unit_test(saturated_values_are_drawn),
		cmocka_unit_test(nothing_is_drawn_of_nothing),
	};

	return run_all(tests);
}
