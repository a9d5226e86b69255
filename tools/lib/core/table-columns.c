/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report as a table: which columns it has, and their values. */
#include "table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	enum figure figure;
	bool times; /* only with a histogram */
} figures[] = {
	{"calls", CALLS, false}, {"rate", RATE, false}, {"errors", ERRORS, false},
	{"total", TOTAL, true},  {"mean", MEAN, true},  {"min", MIN, true},
	{"max", MAX, true},
};
#define N_FIGURES (sizeof(figures) / sizeof(figures[0]))

static void add(struct table *t, struct column c, const char *heading)
{
	for (size_t i = 0; i + 1 < sizeof(c.heading) && heading[i]; i++)
		c.heading[i] = toupper((unsigned char)heading[i]);
	if (t->n < MAX_COLUMNS)
		t->columns[t->n++] = c;
}

/* The number of the tool's extra figures. */
static size_t n_extra(const struct plumb_tool *tool)
{
	return !tool->measure.extra[0] ? 0 : tool->measure.extra[1] ? 2 : 1;
}

static bool has_figure(const struct plumb_tool *tool, size_t i)
{
	return (plumb_has_histogram(tool->measure.kind) || !figures[i].times) &&
	       (tool->measure.errors || figures[i].figure != ERRORS);
}

const char *table_counted(const struct plumb_tool *tool)
{
	return tool->measure.counted ?: "calls";
}

/* A sum of bytes is called "bytes". */
static const char *figure_name(const struct plumb_tool *tool, size_t i)
{
	if (figures[i].figure == CALLS)
		return table_counted(tool);
	return tool->measure.kind == PLUMB_SIZES && figures[i].figure == TOTAL ? "bytes"
									       : figures[i].name;
}

int table_find_figure(const struct plumb_tool *tool, const struct plumb_options *o,
		      const char *name, struct column *c)
{
	for (size_t i = 0; i < N_FIGURES; i++)
		if (!strcmp(name, figure_name(tool, i)) && has_figure(tool, i)) {
			*c = (struct column){.figure = figures[i].figure};
			return 0;
		}
	for (size_t i = 0;
	     i < o->n_percentiles && plumb_has_histogram(tool->measure.kind) && *name == 'p'; i++)
		if (!strcmp(name + 1, o->percentiles[i].name)) {
			*c = (struct column){.figure = PERCENTILE, .percentile = i};
			return 0;
		}
	for (size_t i = 0; i < n_extra(tool); i++)
		if (!strcmp(name, tool->measure.extra[i])) {
			*c = (struct column){.figure = EXTRA, .extra = i};
			return 0;
		}
	for (size_t i = 0; i < tool->measure.n_columns; i++)
		if (!strcmp(name, tool->measure.columns[i].name)) {
			*c = (struct column){.figure = OWN, .own = &tool->measure.columns[i]};
			return 0;
		}
	return -1;
}

bool plumb_report_has_column(const struct plumb_tool *tool, const struct plumb_options *o,
			     const char *name, char *known, size_t size)
{
	struct column c;
	size_t n = 0;

	if (!table_find_figure(tool, o, name, &c))
		return true;
	for (size_t i = 0; i < N_FIGURES && n < size; i++)
		if (has_figure(tool, i))
			n += snprintf(known + n, size - n, " %s", figure_name(tool, i));
	for (size_t i = 0; i < n_extra(tool) && n < size; i++)
		n += snprintf(known + n, size - n, " %s", tool->measure.extra[i]);
	for (size_t i = 0; i < tool->measure.n_columns && n < size; i++)
		n += snprintf(known + n, size - n, " %s", tool->measure.columns[i].name);
	for (size_t i = 0;
	     i < o->n_percentiles && plumb_has_histogram(tool->measure.kind) && n < size; i++)
		n += snprintf(known + n, size - n, " p%s", o->percentiles[i].name);
	return false;
}

uint64_t table_value(const struct table *t, const struct column *c, const struct plumb_row *row)
{
	switch (c->figure) {
	case CALLS:
		return row->count;
	case RATE:
		return t->r->elapsed ? row->count * 1e9 / t->r->elapsed + 0.5 : 0;
	case ERRORS:
		return row->errors;
	case TOTAL:
		return row->sum;
	case MEAN:
		return row->count ? row->sum / row->count : 0;
	case MIN:
		return row->count ? row->dist.min : 0;
	case MAX:
		return row->dist.max;
	case PERCENTILE:
		return plumb_percentile(&row->dist,
					t->r->run->options->percentiles[c->percentile].p);
	case EXTRA:
		return row->extra[c->extra];
	case OWN:
		return c->own->value(c->own->id, t->r, row) * 1000;
	case FIELD:
		break;
	}
	return 0;
}

/* The sum of a figure would repeat a field of the key that has its name. */
static bool is_key(const struct plumb_run *run, const char *extra)
{
	const struct plumb_field *f;

	for (size_t i = 0; (f = plumb_field_at(run->tool, i)); i++)
		if (run->options->by & f->bit && !strcmp(f->name, extra))
			return true;
	return false;
}

void table_lay_out(struct table *t)
{
	const struct plumb_run *run = t->r->run;
	const struct plumb_options *o = run->options;
	const struct plumb_field *f;
	const char *const *extra = run->tool->measure.extra;
	uint64_t errors = 0;
	const bool has_histogram = plumb_has_histogram(run->tool->measure.kind);
	struct column sort;
	char heading[20];

	for (size_t i = 0; (f = plumb_field_at(run->tool, i)); i++)
		if (o->by & f->bit)
			add(t, (struct column){.figure = FIELD, .field = f}, f->name);
	add(t, (struct column){.figure = CALLS}, table_counted(run->tool));
	for (size_t i = 0; i < n_extra(run->tool); i++)
		if (!is_key(run, extra[i]))
			add(t, (struct column){.figure = EXTRA, .extra = i}, extra[i]);
	if (run->tool->measure.kind != PLUMB_TIMES)
		add(t, (struct column){.figure = RATE}, "rate/s");
	if (run->tool->measure.kind == PLUMB_SIZES)
		add(t, (struct column){.figure = TOTAL}, "bytes");
	for (size_t i = 0; i < t->r->snap->n; i++)
		errors += t->r->snap->rows[i].errors;
	if (errors || (run->tool->measure.errors &&
		       (!has_histogram || (o->sort && !strcmp(o->sort, "errors")))))
		add(t, (struct column){.figure = ERRORS}, "errors");
	for (size_t i = 0; i < run->tool->measure.n_columns; i++)
		add(t, (struct column){.figure = OWN, .own = &run->tool->measure.columns[i]},
		    run->tool->measure.columns[i].name);
	if (!has_histogram)
		return;
	if (o->sort && !table_find_figure(run->tool, o, o->sort, &sort) &&
	    ((sort.figure == TOTAL && run->tool->measure.kind == PLUMB_TIMES) ||
	     sort.figure == MEAN || sort.figure == MIN))
		add(t, sort, o->sort);
	for (size_t i = 0; i < o->n_percentiles; i++) {
		snprintf(heading, sizeof(heading), "p%s", o->percentiles[i].name);
		add(t, (struct column){.figure = PERCENTILE, .percentile = i}, heading);
	}
	add(t, (struct column){.figure = MAX}, "max");
}
