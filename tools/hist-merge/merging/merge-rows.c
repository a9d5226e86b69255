/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* merge's result: its rows in order, and their distributions. */
#include "merging/merge.h"
#include <stdlib.h>
#include <plumb/bpf/hist/hist.h>

static int in_order(const void *a, const void *b)
{
	const struct merged_row *x = *(struct merged_row *const *)a,
				*y = *(struct merged_row *const *)b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->key, y->key);
}

struct merged_row **merge_rows(const struct merge *m, uint64_t end, size_t *n)
{
	struct merged_row **rows = calloc(m->n + 1, sizeof(*rows));

	if (!rows)
		abort();
	*n = 0;
	for (size_t i = 0; i < m->slots; i++)
		for (struct merged_row *row = m->table[i]; row; row = row->next)
			if (row->window < end && row->count)
				rows[(*n)++] = row;
	qsort(rows, *n, sizeof(*rows), in_order);
	return rows;
}

static void free_row(const struct merge *m, struct merged_row *row)
{
	for (int k = 0; k < MEASURES; k++) {
		struct merged *of = &row->measures[k];

		for (uint32_t i = 0; of->blocks && i < plumb_hist_buckets(m->precision); i++)
			free(of->blocks[i]);
		free(of->blocks);
		free(of->counts);
	}
	free(row->key);
	free(row);
}

void merge_drop(struct merge *m, uint64_t end)
{
	struct merged_row **at, *row;

	for (size_t i = 0; i < m->slots; i++)
		for (at = &m->table[i]; (row = *at);) {
			if (row->window >= end) {
				at = &row->next;
				continue;
			}
			*at = row->next;
			free_row(m, row);
			m->n--;
		}
	merge_forget(m);
}

void merge_free(struct merge *m)
{
	merge_drop(m, UINT64_MAX);
	free(m->table);
	free(m->aliases);
	free(m->second);
}

struct plumb_dist merge_dist(const struct merge *m, const struct merged *of)
{
	struct plumb_dist d = {.precision = m->precision, .min = of->min, .max = of->max};
	long n = of->counts ? plumb_buckets_pack(of->counts, plumb_hist_buckets(m->precision),
						 &d.buckets)
			    : 0;

	if (n < 0)
		abort();
	d.n = n;
	return d;
}

size_t merge_blocks(const struct merge *m)
{
	return m->reports ? (m->reports - 1) / m->block_reports + 1 : 0;
}
