/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report as an ASCII histogram: the fine buckets of a row, gathered into lines. */
#include <stdio.h>
#include <string.h>
#include <plumb/core/report.h>

#define BAR       40
#define MAX_LINES 24

/* The line of a bucket: 2^SPLIT lines per octave; all octaves below 2^PRECISION share as many. */
static uint32_t line_of(uint32_t index, uint32_t precision, uint32_t split)
{
	return index >> (precision - split);
}

static uint64_t line_count(const struct plumb_dist *d, uint32_t line, uint32_t split)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->n; i++)
		if (line_of(d->buckets[i].index, d->precision, split) == line)
			sum += d->buckets[i].count;
	return sum;
}

void plumb_report_histogram(const struct plumb_row *row, enum plumb_unit unit, FILE *out)
{
	const struct plumb_dist *d = &row->dist;
	uint32_t split = d->precision, first, last, step;
	uint64_t most = 0, n;
	char from[32], to[32], bar[BAR + 1];

	if (!d->n)
		return;
	/* As many lines per octave as fit, but at least one. */
	for (;; split--) {
		first = line_of(d->buckets[0].index, d->precision, split);
		last = line_of(d->buckets[d->n - 1].index, d->precision, split);
		if (last - first < MAX_LINES || !split)
			break;
	}
	step = d->precision - split;
	for (uint32_t line = first; line <= last; line++) {
		n = line_count(d, line, split);
		if (n > most)
			most = n;
	}
	for (uint32_t line = first; line <= last; line++) {
		uint64_t highest = plumb_bucket_highest(((line + 1) << step) - 1, d->precision);

		n = line_count(d, line, split);
		memset(bar, ' ', BAR);
		memset(bar, '#', (n * BAR + most - 1) / most);
		bar[BAR] = 0;
		plumb_format_time(plumb_bucket_lowest(line << step, d->precision), unit, from,
				  sizeof(from));
		plumb_format_time(line == last ? d->max : highest, unit, to, sizeof(to));
		fprintf(out, "  %9s .. %-9s %10llu |%s|\n", from, to, (unsigned long long)n, bar);
	}
}
