/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* table: its columns, which table-columns.c chooses and table.c prints. */
#pragma once

#include <plumb/core/report.h>

#define PLUMB_MAX_COLUMNS   48
#define PLUMB_SHORTEST_PATH 24 /* to which a table that is too wide shortens a path */

/* A column is a key's field, the tool's own, a part of the split, or one of these figures. */
enum plumb_figure {
	PLUMB_FIGURE_COUNT,
	PLUMB_FIGURE_RATE,
	PLUMB_FIGURE_ERRORS,
	PLUMB_FIGURE_TOTAL,
	PLUMB_FIGURE_SHARE,
	PLUMB_FIGURE_MEAN,
	PLUMB_FIGURE_MIN,
	PLUMB_FIGURE_MAX,
	PLUMB_FIGURE_PERCENTILE,
	PLUMB_FIGURE_OWN,
	PLUMB_FIGURE_FIELD,
	PLUMB_FIGURE_PART,
};

struct plumb_shown {
	enum plumb_figure figure;
	enum plumb_column_kind kind;
	bool by_default; /* without --columns */
	char name[20];   /* in --columns and --sort; in capitals the heading */
	const struct plumb_field *field;
	size_t index; /* in the options' percentiles, or in the tool's parts of the split */
	const struct plumb_column *own;
	int width;
};

struct plumb_table {
	const struct plumb_report *r;
	double whole; /* of which SHARE is; 0: not known yet */
	struct plumb_shown columns[PLUMB_MAX_COLUMNS];
	size_t n;
	uint64_t most;  /* rows; 0: all */
	uint64_t lines; /* that rows may take, without histograms; 0: as many as they need */
	char note[512]; /* below the rows, or "" */
};

/* "calls", or what the tool counts. */
const char *plumb_table_counted(const struct plumb_tool *tool);

/* What a row has in a column, as a number; NAN: nothing.  Of a key's field 0. */
double plumb_table_value(struct plumb_table *t, const struct plumb_shown *c,
			 const struct plumb_row *row);

/* The same as text, cut to SIZE; of the row's SECOND measure, if the tool has one. */
void plumb_table_cell(struct plumb_table *t, const struct plumb_shown *c,
		      const struct plumb_row *row, bool second, char *text, size_t size);

/* Chooses the columns of T. */
void plumb_table_lay_out(struct plumb_table *t);
