/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report as a table: which columns it has, their values, and by which one rows are sorted. */
#include <plumb/core/table.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/verdict.h>

static struct plumb_shown *find(struct plumb_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->columns[i].name, name))
			return &t->columns[i];
	return NULL;
}

static void add(struct plumb_table *t, const char *name, struct plumb_shown c)
{
	snprintf(c.name, sizeof(c.name), "%s", name);
	if (t->n < PLUMB_MAX_COLUMNS)
		t->columns[t->n++] = c;
}

static void add_figure(struct plumb_table *t, const char *name, enum plumb_figure figure,
		       enum plumb_column_kind kind, bool shown)
{
	add(t, name, (struct plumb_shown){.figure = figure, .kind = kind, .by_default = shown});
}

const char *plumb_table_counted(const struct plumb_tool *tool)
{
	return tool->measure.counted ?: "calls";
}

/* The tool's own columns: its counters, or what it computes. */
static void add_own(struct plumb_table *t, const struct plumb_tool *tool, bool counters)
{
	for (const struct plumb_column *c = tool->measure.columns; c && c->name; c++)
		if (plumb_column_is_counter(c) == counters)
			add(t, c->name,
			    (struct plumb_shown){.figure = PLUMB_FIGURE_OWN,
						 .kind = c->kind,
						 .by_default = true,
						 .own = c});
}

/* All figures, in the order of a table. */
static void add_figures(struct plumb_table *t, const struct plumb_tool *tool,
			const struct plumb_options *o)
{
	const struct plumb_measure *m = &tool->measure;
	const bool spread = plumb_has_histogram(m->kind), sizes = m->kind == PLUMB_SIZES;
	const enum plumb_column_kind unit = sizes ? PLUMB_COLUMN_BYTES : PLUMB_COLUMN_TIME;
	char name[20];

	add_figure(t, plumb_table_counted(tool), PLUMB_FIGURE_COUNT, PLUMB_COLUMN_COUNT, true);
	add_own(t, tool, true);
	add_figure(t, "rate", PLUMB_FIGURE_RATE, PLUMB_COLUMN_RATE,
		   m->rate || m->kind != PLUMB_TIMES);
	if (spread)
		add_figure(t, sizes ? "bytes" : "total", PLUMB_FIGURE_TOTAL, unit, true);
	if (!m->unlike)
		add_figure(t, "share", PLUMB_FIGURE_SHARE, PLUMB_COLUMN_PERCENT, true);
	if (m->errors)
		add_figure(t, "errors", PLUMB_FIGURE_ERRORS, PLUMB_COLUMN_COUNT, !spread);
	add_own(t, tool, false);
	if (!spread)
		return;
	add_figure(t, "mean", PLUMB_FIGURE_MEAN, unit, false);
	add_figure(t, "min", PLUMB_FIGURE_MIN, unit, false);
	for (size_t i = 0; i < o->n_percentiles; i++) {
		snprintf(name, sizeof(name), "p%s", o->percentiles[i].name);
		add(t, name,
		    (struct plumb_shown){.figure = PLUMB_FIGURE_PERCENTILE,
					 .kind = unit,
					 .by_default = true,
					 .index = i});
	}
	add_figure(t, "max", PLUMB_FIGURE_MAX, unit, true);
	for (size_t i = 0;
	     o->split && m->split_by && m->split_by->name(tool, i, name, sizeof(name)); i++)
		add(t, name,
		    (struct plumb_shown){.figure = PLUMB_FIGURE_PART,
					 .kind = PLUMB_COLUMN_PERCENT,
					 .by_default = true,
					 .index = i});
}

/* --- options --- */

/* What is there twice would be one member of JSON, and one column for --sort. */
static void check_names(struct plumb_table *all)
{
	static const char members[] = " key count errors sum hist percentiles low_samples split ";
	char word[32];

	for (struct plumb_shown *c = all->columns; c < all->columns + all->n; c++) {
		snprintf(word, sizeof(word), " %s ", c->name);
		if (find(all, c->name) == c && !(c->own && strstr(members, word)))
			continue;
		plumb_warn("there are two columns or members of JSON with the name %s", c->name);
		exit(PLUMB_EXIT_FAILED);
	}
}

static void check_name(const char *option, const char *name, struct plumb_table *all)
{
	char known[512] = "";
	size_t n = 0;

	if (find(all, name))
		return;
	for (size_t i = 0; i < all->n && n < sizeof(known); i++)
		n += snprintf(known + n, sizeof(known) - n, " %s", all->columns[i].name);
	if (strcmp(name, "help") != 0)
		plumb_usage_error("%s: no such column: %s; known:%s", option, name, known);
	puts(known + 1);
	exit(plumb_close_stdout(0));
}

struct choosing {
	struct plumb_table *all, *chosen;
};

static int check_item(const char *name, void *context)
{
	struct choosing *c = context;

	check_name("--columns", name, c->all);
	if (find(c->chosen, name))
		plumb_usage_error("--columns: twice: %s", name);
	add(c->chosen, name, *find(c->all, name));
	return 0;
}

void plumb_report_check_columns(const struct plumb_tool *tool, const struct plumb_options *o)
{
	struct plumb_table all = {}, chosen = {};
	struct choosing c = {&all, &chosen};

	add_figures(&all, tool, o);
	check_names(&all);
	if (o->sort)
		check_name("--sort", o->sort, &all);
	if (o->columns && plumb_parse_list(o->columns, check_item, &c))
		plumb_usage_error("--columns: an empty item in '%s'", o->columns);
}

/* --- values --- */

static double figure_of_share(const struct plumb_report *r, const struct plumb_row *row)
{
	return plumb_has_histogram(r->run->tool->measure.kind) ? row->sum : row->count;
}

/* If a call is recorded in rows of its stages, too, only those of whole calls add up to all. */
static double share(struct plumb_table *t, const struct plumb_row *row)
{
	const struct plumb_report *r = t->r;
	const bool known = t->whole;

	for (size_t i = 0; !known && i < r->snap->n; i++)
		if (r->total->stages <= 1 || plumb_row_is_whole(r->total, &r->snap->rows[i]))
			t->whole += figure_of_share(r, &r->snap->rows[i]);
	return t->whole ? 100 * figure_of_share(r, row) / t->whole : 0;
}

double plumb_table_value(struct plumb_table *t, const struct plumb_shown *c,
			 const struct plumb_row *row)
{
	switch (c->figure) {
	case PLUMB_FIGURE_COUNT:
		return row->count;
	case PLUMB_FIGURE_RATE:
		return plumb_row_rate(t->r, row);
	case PLUMB_FIGURE_ERRORS:
		return row->errors;
	case PLUMB_FIGURE_TOTAL:
		return row->sum;
	case PLUMB_FIGURE_SHARE:
		return share(t, row);
	case PLUMB_FIGURE_MEAN:
		return row->count ? row->sum / row->count : 0;
	case PLUMB_FIGURE_MIN:
		return row->count ? row->dist.min : 0;
	case PLUMB_FIGURE_MAX:
		return row->dist.max;
	case PLUMB_FIGURE_PERCENTILE:
		return plumb_percentile(&row->dist, t->r->run->options.percentiles[c->index].p);
	case PLUMB_FIGURE_OWN:
		return plumb_column_is_unknown(c->own, row->counters) ? NAN
		       : plumb_column_is_counter(c->own) ? (double)row->counters[c->own->id]
		       : c->own->value                   ? c->own->value(c->own->id, t->r, row)
							 : 0;
	case PLUMB_FIGURE_PART:
		return t->r->run->tool->measure.split_by->share(t->r->run, row, c->index);
	case PLUMB_FIGURE_FIELD:
		break;
	}
	return 0;
}

double plumb_row_rate(const struct plumb_report *r, const struct plumb_row *row)
{
	return r->elapsed ? row->count * 1e9 / r->elapsed : 0;
}

/* --- the rows' order --- */

/* Highest first, and most calls first of what is equal. */
static int compare(const void *a, const void *b)
{
	const struct plumb_row *x = a, *y = b;

	return x->order != y->order ? (x->order < y->order) - (x->order > y->order)
				    : (x->count < y->count) - (x->count > y->count);
}

void plumb_report_sort(struct plumb_report *r)
{
	const struct plumb_run *run = r->run;
	struct plumb_table all = {.r = r};
	const bool sums = plumb_has_histogram(run->tool->measure.kind);
	struct plumb_shown by_default = {.figure = sums ? PLUMB_FIGURE_TOTAL : PLUMB_FIGURE_COUNT};
	const struct plumb_shown *by;

	add_figures(&all, run->tool, &run->options);
	by = (run->options.sort ? find(&all, run->options.sort) : NULL) ?: &by_default;
	for (size_t i = 0; i < r->snap->n; i++) {
		double value = plumb_table_value(&all, by, &r->snap->rows[i]);

		r->snap->rows[i].order = isnan(value) ? -INFINITY : value;
	}
	if (r->snap->n)
		qsort(r->snap->rows, r->snap->n, sizeof(*r->snap->rows), compare);
}

/* --- the columns of a report --- */

/* What was there when the options were checked may be gone; a counter may be a key, too. */
static int choose(const char *name, void *context)
{
	struct choosing *c = context;
	const struct plumb_shown *column = find(c->all, name);

	if (column && !find(c->chosen, name))
		add(c->chosen, name, *column);
	return 0;
}

static bool any(struct plumb_table *t, const struct plumb_shown *c, double least)
{
	for (size_t i = 0; i < t->r->snap->n; i++)
		if (!(plumb_table_value(t, c, &t->r->snap->rows[i]) < least))
			return true;
	return false;
}

/* Errors are shown where there are any, and so are parts of the split, or where they are not seen.
 */
static bool is_shown(struct plumb_table *t, const struct plumb_shown *c)
{
	const char *sort = t->r->run->options.sort;

	if (sort && !strcmp(sort, c->name))
		return true;
	if (c->figure == PLUMB_FIGURE_SHARE && !t->r->run->options.by)
		return false;
	if (c->figure == PLUMB_FIGURE_PART)
		return any(t, c, 0.5);
	return c->by_default || (c->figure == PLUMB_FIGURE_ERRORS && any(t, c, 1));
}

void plumb_table_lay_out(struct plumb_table *t)
{
	const struct plumb_run *run = t->r->run;
	const struct plumb_options *o = &run->options;
	const struct plumb_field *f;
	struct plumb_table all = {};
	struct choosing c = {&all, t};

	for (size_t i = 0; (f = plumb_field_at(run->tool, i)); i++)
		if (o->by & f->bit)
			add(t, f->name,
			    (struct plumb_shown){.figure = PLUMB_FIGURE_FIELD, .field = f});
	add_figures(&all, run->tool, o);
	/* The line of the second measure has its name in the first column. */
	if (o->columns && !t->n && run->tool->measure.second)
		choose(plumb_table_counted(run->tool), &c);
	if (o->columns && !plumb_parse_list(o->columns, choose, &c))
		return;
	for (size_t i = 0; i < all.n; i++)
		if (is_shown(t, &all.columns[i]))
			choose(all.columns[i].name, &c);
}
