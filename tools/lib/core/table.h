/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* table: its columns, which table-columns.c chooses and table.c prints. */
#ifndef TABLE_H
#define TABLE_H

#include <plumb/core/report.h>

#define MAX_COLUMNS 48

/* A column is a key's field, a percentile, or one of these figures. */
enum figure { CALLS, RATE, ERRORS, TOTAL, MEAN, MIN, MAX, PERCENTILE, EXTRA, OWN, FIELD };

struct column {
	enum figure figure;
	char heading[20];
	const struct plumb_field *field;
	size_t percentile; /* index in the options' percentiles */
	size_t extra;      /* index in the tool's extra figures */
	const struct plumb_column *own;
	int width;
};

struct table {
	struct plumb_report *r;
	struct column columns[MAX_COLUMNS];
	size_t n;
};

/* "calls", or what the tool counts. */
const char *table_counted(const struct plumb_tool *tool);

/* Finds the figure by name; percentiles are "p99" and the like.  0, or -1 if there is none. */
int table_find_figure(const struct plumb_tool *tool, const struct plumb_options *o,
		      const char *name, struct column *c);

/* What a row has in a column, as a number; of a key's field 0. */
uint64_t table_value(const struct table *t, const struct column *c, const struct plumb_row *row);

/* Chooses the columns of T. */
void table_lay_out(struct table *t);

#endif
