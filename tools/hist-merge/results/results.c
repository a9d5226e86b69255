/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "results/results.h"
#include <stdlib.h>

bool reading_is_of_sizes(const struct reading *r)
{
	return r->tool && !strcmp(r->tool, "skb-alloc");
}

int64_t reading_unaccounted(const struct reading *r)
{
	return (int64_t)(r->hosts.sum.ledger.n[LEDGER_RECORDED] - r->merge.count);
}

uint64_t reading_coarsened(const struct reading *r)
{
	uint64_t n = 0;

	for (uint32_t p = r->merge.precision + 1; p <= PLUMB_HIST_MAX_PRECISION; p++)
		n += r->of_precision[p];
	return n;
}

static double order_of(const struct sort_by *by, const struct merged_row *row, bool has_sums)
{
	const struct merged *first = &row->measures[FIRST];

	switch (by->column) {
	case SORT_ERRORS:
		return row->errors;
	case SORT_TOTAL:
		return first->sum;
	case SORT_MEAN:
		return (double)first->sum / row->count;
	case SORT_MAX:
		return first->dist.max;
	case SORT_PERCENTILE:
		return plumb_percentile(&first->dist, by->p);
	case SORT_CALLS:
		return row->count;
	default:
		return has_sums ? first->sum : row->count;
	}
}

static int in_order(const void *a, const void *b)
{
	const struct merged_row *x = *(struct merged_row *const *)a,
				*y = *(struct merged_row *const *)b;

	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	if (x->order != y->order)
		return x->order > y->order ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->key, y->key);
}

struct merged_row **results_rows(const struct reading *r, uint64_t end, size_t *n)
{
	struct merged_row **rows = merge_rows(&r->merge, end, n);

	for (size_t i = 0; i < *n; i++)
		rows[i]->order = order_of(&r->options->sort, rows[i], merge_has(&r->merge, FIRST));
	qsort(rows, *n, sizeof(*rows), in_order);
	return rows;
}

int results_all(const struct reading *r, int (*each)(const struct result *result))
{
	struct result result = {
		.reading = r,
		.start = r->from,
		.end = r->to,
		.seq = 1,
		.final = true,
		.reports = r->merge.reports,
		.has_data = true,
	};
	int err;

	result.rows = results_rows(r, UINT64_MAX, &result.n);
	err = each(&result);
	free(result.rows);
	return err;
}

int results_until(struct reading *r, uint64_t end, bool final,
		  int (*each)(const struct result *result))
{
	struct result result = {.reading = r};
	struct merged_row **rows;
	size_t all, at = 0;
	int err = 0;

	hosts_sum(&r->hosts);
	rows = results_rows(r, end, &all);
	result.end = r->results || !r->times.n ? r->printed : r->times.all[0].start;
	while (!err && result.end < end) {
		result.start = result.end;
		result.end = times_take(&r->times, result.start, r->options->every, &result.reports,
					&result.has_data);
		result.rows = rows + at;
		for (result.n = 0; at < all && rows[at]->window == result.start; at++)
			result.n++;
		result.seq = ++r->results;
		result.final = final && result.end >= end;
		err = each(&result);
	}
	free(rows);
	r->printed = end;
	merge_drop(&r->merge, end);
	return err;
}
