// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* hist-merge: what is added to what: buckets of different precision, blocks, runs of hosts. */
#include "unit.h"
#include "merging/hosts.h"
#include "merging/merge.h"
#include <plumb/bpf/hist/hist.h>

static struct line_row row;

/* A report of one row, whose values are VALUES[0..n) and whose key is {}. */
static struct line line_of(const uint64_t *values, size_t n, uint32_t precision)
{
	struct line l = {.precision = precision,
			 .rows = &row,
			 .n_rows = 1,
			 .count = n,
			 .measures = 1 << FIRST};
	uint64_t *dense = calloc(plumb_hist_buckets(precision), sizeof(*dense));
	struct line_measure *m = &row.measures[FIRST];

	row = (struct line_row){.key = {"{}", 2}, .count = n};
	*m = (struct line_measure){.count = n, .min = UINT64_MAX};
	for (size_t i = 0; i < n; i++) {
		dense[plumb_hist_index(values[i], precision)]++;
		m->min = values[i] < m->min ? values[i] : m->min;
		m->max = values[i] > m->max ? values[i] : m->max;
		m->sum += values[i];
	}
	m->n = l.n_buckets = plumb_buckets_pack(dense, plumb_hist_buckets(precision), &l.buckets);
	free(dense);
	return l;
}

static void add(struct merge *m, const uint64_t *values, size_t n, uint32_t precision)
{
	struct line l = line_of(values, n, precision);

	assert_null(merge_add(m, &l, 0));
	free(l.buckets);
}

/* Any two precisions, in both orders: the buckets are those of all values at the lower one. */
static void the_coarser_precision_is_that_of_the_result(void **state)
{
	uint64_t random = 7, values[2][500], all[1000];

	for (size_t i = 0; i < 1000; i++)
		all[i] = values[i / 500][i % 500] = next_random(&random) >> (20 + random % 43);
	for (uint32_t p = PLUMB_HIST_MIN_PRECISION; p <= PLUMB_HIST_MAX_PRECISION; p++)
		for (uint32_t q = PLUMB_HIST_MIN_PRECISION; q <= PLUMB_HIST_MAX_PRECISION; q++) {
			struct merge m = {.max_rows = 10, .blocks = true}, whole = {.max_rows = 10};
			struct merged_row **a, **b;
			struct plumb_dist x, y;
			size_t n;

			add(&m, values[0], 500, p);
			add(&m, values[1], 500, q);
			add(&whole, all, 1000, p < q ? p : q);
			a = merge_rows(&m, UINT64_MAX, &n);
			assert_int_equal(n, 1);
			b = merge_rows(&whole, UINT64_MAX, &n);
			x = a[0]->measures[FIRST].dist;
			y = b[0]->measures[FIRST].dist;
			assert_int_equal(x.n, y.n);
			assert_memory_equal(x.buckets, y.buckets, x.n * sizeof(*x.buckets));
			assert_int_equal(x.min, y.min);
			assert_int_equal(x.max, y.max);
			/* The blocks of a bucket add up to it. */
			for (size_t i = 0; i < x.n; i++) {
				uint64_t *of = a[0]->measures[FIRST].blocks[x.buckets[i].index];

				assert_int_equal(of[0] + of[1], x.buckets[i].count);
			}
			free(a);
			free(b);
			merge_free(&m);
			merge_free(&whole);
		}
}

/* Report i has i+1 calls. */
static void blocks_are_of_neighbouring_reports(void **state)
{
	static const size_t numbers[] = {1, 63, 64, 65, 127, 128, 129, 1000};
	const uint64_t ones[1000] = {0};

	for (size_t k = 0; k < LENGTH(numbers); k++) {
		struct merge m = {.max_rows = 1, .blocks = true};
		struct merged_row **rows;
		size_t n, width, blocks;

		for (size_t i = 0; i < numbers[k]; i++)
			add(&m, ones, i + 1, 6);
		rows = merge_rows(&m, UINT64_MAX, &n);
		width = m.block_reports;
		blocks = merge_blocks(&m);
		check(blocks <= MERGE_BLOCKS && (numbers[k] < 64 || blocks >= MERGE_BLOCKS / 2),
		      "%zu of %zu", blocks, numbers[k]);
		for (size_t b = 0; b < MERGE_BLOCKS; b++) {
			uint64_t wanted = 0;

			for (size_t i = b * width; i < (b + 1) * width && i < numbers[k]; i++)
				wanted += i + 1;
			check(rows[0]->measures[FIRST].blocks[0][b] == wanted, "block %zu of %zu",
			      b, numbers[k]);
		}
		free(rows);
		merge_free(&m);
	}
}

/* HOST's report SEQ, from START to END, after which its run has recorded so many. */
static void report(struct hosts *h, const char *host, uint64_t seq, uint64_t start, uint64_t end,
		   uint64_t recorded, bool final)
{
	struct line l = {.host = {host, strlen(host)},
			 .seq = seq,
			 .start = start,
			 .end = end,
			 .final = final};

	l.ledger.n[LEDGER_RECORDED] = recorded;
	assert_true(hosts_have_room(h, &l));
	hosts_add(h, &l);
}

static void recorded(struct hosts *h, uint64_t runs, uint64_t wanted)
{
	hosts_sum(h);
	assert_int_equal(h->sum.ledger.n[LEDGER_RECORDED], wanted);
	assert_int_equal(h->sum.runs, runs);
	hosts_free(h);
	*h = (struct hosts){0};
}

static uint64_t headless(struct hosts *h)
{
	hosts_sum(h);
	return h->sum.headless;
}

static void of_a_run_the_last_ledger_counts(void **state)
{
	struct hosts h = {0};

	report(&h, "a", 1, 0, 10, 5, false);
	report(&h, "a", 2, 10, 20, 7, false);
	report(&h, "b", 1, 0, 10, 100, true);
	report(&h, "a", 3, 20, 30, 9, true);
	recorded(&h, 2, 109);
	/* A run that begins where another one of its host ended. */
	report(&h, "a", 1, 0, 10, 5, false);
	report(&h, "a", 1, 10, 20, 50, false);
	recorded(&h, 2, 55);
	/* Two runs of a host at once: each report belongs to the run that it continues. */
	report(&h, "a", 1, 0, 10, 1, false);
	report(&h, "a", 1, 3, 13, 100, false);
	report(&h, "a", 2, 10, 20, 2, false);
	report(&h, "a", 2, 13, 23, 200, false);
	report(&h, "a", 3, 20, 30, 3, false);
	report(&h, "a", 3, 23, 33, 300, false);
	recorded(&h, 2, 303);
	/* One that began later and ended its report earlier. */
	report(&h, "a", 1, 0, 10, 1, false);
	report(&h, "a", 1, 5, 8, 100, false);
	report(&h, "a", 2, 10, 20, 2, false);
	report(&h, "a", 2, 8, 18, 200, false);
	recorded(&h, 2, 202);
	/* A report is missing, and so is the first one. */
	report(&h, "a", 2, 10, 20, 20, false);
	report(&h, "a", 5, 40, 50, 50, false);
	assert_int_equal(headless(&h), 1);
	recorded(&h, 1, 50);
	/* The files of a rotated output, newest first. */
	report(&h, "a", 5, 40, 50, 50, false);
	report(&h, "a", 6, 50, 60, 60, true);
	report(&h, "a", 3, 20, 30, 30, false);
	report(&h, "a", 4, 30, 40, 40, false);
	report(&h, "a", 1, 0, 10, 10, false);
	report(&h, "a", 2, 10, 20, 20, false);
	assert_int_equal(headless(&h), 0);
	assert_int_equal(h.all[0].sum.reports, 6);
	recorded(&h, 1, 60);
}

/* The files of a rotated output, two reports each, in all orders. */
static void of_a_run_files_may_be_in_any_order(void **state)
{
	struct hosts h = {0};

	for (unsigned int order = 0; order < 256; order++) {
		unsigned int seen = 0;

		for (unsigned int i = 0; i < 4; i++)
			seen |= 1 << (order >> 2 * i & 3);
		for (unsigned int i = 0; seen == 15 && i < 4; i++) {
			unsigned int seq = 2 * (order >> 2 * i & 3);

			report(&h, "a", seq + 1, seq * 10, seq * 10 + 10, seq + 1, false);
			report(&h, "a", seq + 2, seq * 10 + 10, seq * 10 + 20, seq + 2, seq == 6);
		}
		if (seen != 15)
			continue;
		assert_int_equal(headless(&h), 0);
		assert_int_equal(h.all[0].sum.reports, 8);
		recorded(&h, 1, 8);
	}
}

static void many_open_runs_are_all_counted(void **state)
{
	struct hosts h = {0};
	char name[16];

	for (uint64_t i = 0; i < 1000; i++)
		report(&h, "a", 1, i, i + 5000, 1, false);
	recorded(&h, 1000, 1000);
	for (uint64_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "host%d", (int)(i % 1000));
		report(&h, name, 1 + i / 1000, i / 1000, i / 1000 + 1, 1 + i / 1000, false);
	}
	assert_int_equal(h.n, 1000);
	recorded(&h, 1000, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_coarser_precision_is_that_of_the_result),
		cmocka_unit_test(blocks_are_of_neighbouring_reports),
		cmocka_unit_test(of_a_run_the_last_ledger_counts),
		cmocka_unit_test(of_a_run_files_may_be_in_any_order),
		cmocka_unit_test(many_open_runs_are_all_counted),
	};

	return run_all(tests);
}
