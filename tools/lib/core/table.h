/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* table: its columns, which table-columns.c chooses and table.c prints. */
#pragma once

#include <plumb/core/report.h>

#define MAX_COLUMNS 48

/* A column is a key's field, the tool's own, or one of these figures. */
enum figure { CALLS, RATE, ERRORS, TOTAL, SHARE, MEAN, MIN, MAX, PERCENTILE, OWN, FIELD };

struct column {
	enum figure figure;
	enum plumb_column_kind kind;
	bool shown;    /* without --columns */
	char name[20]; /* in --columns and --sort; in capitals the heading */
	const struct plumb_field *field;
	size_t percentile; /* index in the options' percentiles */
	const struct plumb_column *own;
	int width;
};

struct table {
	const struct plumb_report *r;
	double whole; /* of which SHARE is; 0: not known yet */
	struct column columns[MAX_COLUMNS];
	size_t n;
};

/* "calls", or what the tool counts. */
const char *table_counted(const struct plumb_tool *tool);

/* What a row has in a column, as a number; NAN: nothing.  Of a key's field 0. */
double table_value(struct table *t, const struct column *c, const struct plumb_row *row);

/* Chooses the columns of T. */
void table_lay_out(struct table *t);
