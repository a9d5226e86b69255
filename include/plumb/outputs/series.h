/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* series: the rows of a report (plumb/2), as monitoring systems take them. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * An array of {"key": ..., "rows": [...]}: the rows of each key, without those that count nothing.
 * Two rows may have the same key, as two functions may have the same name, but no two series.
 */
json_t *plumb_series(const json_t *report);

/* The sum of the member NAME of ROWS; -1: it is null, or absent, in all of them. */
json_int_t plumb_series_sum(const json_t *rows, const char *name);

/* "syscall_latency": the tool of a report, as part of a name. */
void plumb_series_name(const json_t *report, char *text, size_t size);

/* Whether the histograms of rows are of bytes; those of the second measure are of ns. */
bool plumb_series_are_sizes(const json_t *report);

/* The name of the second measure ("latency"), an object in ROW; NULL: none. */
const char *plumb_series_second(const json_t *row);

/* The tool's own counter I of rows, from 0; false: there are fewer. */
struct plumb_series_counter {
	const char *member;
	char metric[64]; /* "asked_bytes" */
	char help[160];
	bool bytes;
};
bool plumb_series_counter(const json_t *report, size_t i, struct plumb_series_counter *c);

/* What the ledger counts, in order; NULL after the last. */
struct plumb_series_count {
	const char *member, *metric, *help;
	bool falls; /* may become less: not a counter */
};
extern const struct plumb_series_count plumb_series_counts[];
/* Its value in a ledger, borrowed; null or NULL: none. */
json_t *plumb_series_count(const json_t *ledger, const struct plumb_series_count *c);
