/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "results/sort.h"
#include "reading/memory.h"

struct sorted {
	struct merged_row *row;
	double value;
	size_t at;
};

static double percentile(const struct reading *r, const struct merged *of)
{
	struct plumb_dist d = merge_dist(&r->merge, of);
	const double value = d.n ? plumb_percentile(&d, r->options->sort.p) : 0;

	free(d.buckets);
	return value;
}

static double value_of(const struct reading *r, const struct merged_row *row)
{
	const struct merged *first = &row->measures[FIRST];

	switch (r->options->sort.column) {
	case SORT_ERRORS:
		return row->errors;
	case SORT_TOTAL:
		return first->sum;
	case SORT_MEAN:
		return row->count ? (double)first->sum / row->count : 0;
	case SORT_MAX:
		return first->max;
	case SORT_PERCENTILE:
		return percentile(r, first);
	default:
		return row->count;
	}
}

static int in_order(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

void sort_rows(const struct reading *r, struct merged_row **rows, size_t n)
{
	struct sorted *all;

	if (r->options->sort.column == SORT_CALLS || !n)
		return;
	all = get(calloc(n, sizeof(*all)));
	for (size_t i = 0; i < n; i++)
		all[i] = (struct sorted){rows[i], value_of(r, rows[i]), i};
	qsort(all, n, sizeof(*all), in_order);
	for (size_t i = 0; i < n; i++)
		rows[i] = all[i].row;
	free(all);
}
