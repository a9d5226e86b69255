/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* merge's result: its rows, and their distributions. */
#include "merging/merge.h"
#include "reading/memory.h"
#include <search.h>
#include <plumb/bpf/hist/hist.h>

int merge_order(const void *a, const void *b)
{
	const struct merged_row *x = a, *y = b;

	return x->window != y->window ? (x->window < y->window ? -1 : 1) : strcmp(x->key, y->key);
}

struct collected {
	struct merged_row **rows;
	size_t n;
	uint64_t end;
};

static void collect(const void *node, VISIT visit, void *to)
{
	struct merged_row *row = *(struct merged_row *const *)node;
	struct collected *c = to;

	if ((visit == postorder || visit == leaf) && row->window < c->end)
		c->rows[c->n++] = row;
}

struct merged_row **merge_all(const struct merge *m, uint64_t end, size_t *n)
{
	struct collected c = {.rows = get(calloc(m->n + 1, sizeof(*c.rows))), .end = end};

	twalk_r(m->rows, collect, &c);
	*n = c.n;
	return c.rows;
}

static void pack(const struct merge *m, struct merged *of)
{
	long n = 0;

	free(of->dist.buckets);
	of->dist.buckets = NULL;
	if (of->counts)
		n = plumb_buckets_pack(of->counts, plumb_hist_buckets(m->precision),
				       &of->dist.buckets);
	if (n < 0)
		abort();
	of->dist.n = n;
	of->dist.precision = m->precision;
}

struct merged_row **merge_rows(const struct merge *m, uint64_t end, size_t *n)
{
	struct merged_row **rows = merge_all(m, end, n);
	size_t all = *n;

	*n = 0;
	for (size_t i = 0; i < all; i++) {
		if (!rows[i]->count)
			continue;
		for (int k = 0; k < MEASURES; k++)
			pack(m, &rows[i]->measures[k]);
		rows[(*n)++] = rows[i];
	}
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
		free(of->dist.buckets);
	}
	free(row->key);
	free(row);
}

void merge_drop(struct merge *m, uint64_t end)
{
	size_t n;
	struct merged_row **rows = merge_all(m, end, &n);

	for (size_t i = 0; i < n; i++) {
		tdelete(rows[i], &m->rows, merge_order);
		free_row(m, rows[i]);
	}
	m->n -= n;
	free(rows);
	merge_forget(m);
}

void merge_free(struct merge *m)
{
	merge_drop(m, UINT64_MAX);
	free(m->second);
}

bool merge_has(const struct merge *m, int measure)
{
	return m->some & ~m->lacked & 1 << measure;
}

size_t merge_blocks(const struct merge *m)
{
	return m->reports ? (m->reports - 1) / m->block_reports + 1 : 0;
}
