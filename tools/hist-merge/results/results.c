/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "results/results.h"
#include "results/sort.h"
#include <stdlib.h>

bool reading_is_of_sizes(const struct reading *r)
{
	return r->tool && !strcmp(r->tool, "skb-alloc");
}

int64_t reading_unaccounted(const struct reading *r)
{
	return (int64_t)(hosts_ledger(&r->hosts).n[LEDGER_RECORDED] - r->merge.count);
}

uint64_t reading_coarsened(const struct reading *r)
{
	uint64_t n = 0;

	for (uint32_t p = r->merge.precision + 1; p <= PLUMB_HIST_MAX_PRECISION; p++)
		n += r->of_precision[p];
	return n;
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
	struct merged_row **rows = merge_rows(&r->merge, UINT64_MAX, &result.n);
	int err;

	result.rows = rows;
	sort_rows(r, rows, result.n);
	err = each(&result);
	free(rows);
	return err;
}

int results_until(struct reading *r, uint64_t end, bool final,
		  int (*each)(const struct result *result))
{
	const uint64_t every = r->options->every;
	struct result result = {.reading = r};
	struct merged_row **rows;
	size_t left, n = 0;
	int err = 0;

	rows = merge_rows(&r->merge, end, &left);
	result.rows = rows;
	result.end = r->results || !r->times.n ? r->printed : r->times.all[0].start;
	while (!err && result.end < end) {
		result.start = result.end;
		result.end = times_take(&r->times, result.start, every, &result.reports,
					&result.has_data);
		result.rows += n;
		left -= n;
		for (n = 0; n < left && result.rows[n]->window == result.start; n++)
			;
		result.n = n;
		sort_rows(r, result.rows, n);
		result.seq = ++r->results;
		result.final = final && result.end >= end;
		err = each(&result);
	}
	free(rows);
	r->printed = end;
	merge_drop(&r->merge, end);
	return err;
}
