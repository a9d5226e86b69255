/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report as a table: keys to the left, figures to the right, the ledger below. */
#include <ctype.h>
#include <plumb/report/inflight.h>
#include <plumb/base/log.h>
#include <plumb/base/text.h>
#include <plumb/report/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_COLUMNS   48
#define CELL          256
#define SHORTEST_PATH 24

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

static size_t n_extra(const struct plumb_tool *tool)
{
	return !tool->measure.extra[0] ? 0 : tool->measure.extra[1] ? 2 : 1;
}

static bool has_figure(const struct plumb_tool *tool, size_t i)
{
	return (plumb_has_histogram(tool->measure.kind) || !figures[i].times) &&
	       (tool->measure.errors || figures[i].figure != ERRORS);
}

static const char *counted(const struct plumb_tool *tool)
{
	return tool->measure.counted ?: "calls";
}

/* A sum of bytes is called "bytes". */
static const char *figure_name(const struct plumb_tool *tool, size_t i)
{
	if (figures[i].figure == CALLS)
		return counted(tool);
	return tool->measure.kind == PLUMB_SIZES && figures[i].figure == TOTAL ? "bytes"
									       : figures[i].name;
}

/* Finds the figure by name; percentiles are "p99" and the like.  0, or -1 if there is none. */
static int find_figure(const struct plumb_tool *tool, const struct plumb_options *o,
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

	if (!find_figure(tool, o, name, &c))
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

static uint64_t value(const struct table *t, const struct column *c, const struct plumb_row *row)
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

static void lay_out(struct table *t)
{
	const struct plumb_run *run = t->r->run;
	const struct plumb_options *o = run->options;
	const struct plumb_field *f;
	const char *const *extra = run->tool->measure.extra;
	uint64_t errors = 0;
	const bool has_histogram = plumb_has_histogram(run->tool->measure.kind);
	struct column sort;
	bool is_key[2] = {};
	char heading[20];

	for (size_t i = 0; (f = plumb_field_at(run->tool, i)); i++) {
		if (o->by & f->bit)
			add(t, (struct column){.figure = FIELD, .field = f}, f->name);
		for (size_t e = 0; e < n_extra(run->tool); e++) /* its sum would be a repetition */
			is_key[e] |= o->by & f->bit && !strcmp(f->name, extra[e]);
	}
	add(t, (struct column){.figure = CALLS}, counted(run->tool));
	for (size_t i = 0; i < n_extra(run->tool); i++)
		if (!is_key[i])
			add(t, (struct column){.figure = EXTRA, .extra = i}, extra[i]);
	if (run->tool->measure.kind != PLUMB_TIMES)
		add(t, (struct column){.figure = RATE}, "rate/s");
	if (run->tool->measure.kind == PLUMB_SIZES)
		add(t, (struct column){.figure = TOTAL}, "bytes");
	for (size_t i = 0; i < t->r->snap->n; i++)
		errors += t->r->snap->rows[i].errors;
	if (errors || (run->tool->measure.errors && !has_histogram))
		add(t, (struct column){.figure = ERRORS}, "errors");
	for (size_t i = 0; i < run->tool->measure.n_columns; i++)
		add(t, (struct column){.figure = OWN, .own = &run->tool->measure.columns[i]},
		    run->tool->measure.columns[i].name);
	if (!has_histogram)
		return;
	if (o->sort && !find_figure(run->tool, o, o->sort, &sort) &&
	    ((sort.figure == TOTAL && run->tool->measure.kind == PLUMB_TIMES) ||
	     sort.figure == MEAN || sort.figure == MIN))
		add(t, sort, o->sort);
	for (size_t i = 0; i < o->n_percentiles; i++) {
		snprintf(heading, sizeof(heading), "p%s", o->percentiles[i].name);
		add(t, (struct column){.figure = PERCENTILE, .percentile = i}, heading);
	}
	add(t, (struct column){.figure = MAX}, "max");
}

/* A copy of the row with its second measure as the first. */
static struct plumb_row second_of(const struct plumb_row *row)
{
	struct plumb_row second = *row;

	second.sum = row->second_sum;
	second.dist = row->second;
	return second;
}

static enum plumb_unit measure_unit(const struct plumb_run *run, bool second)
{
	return run->tool->measure.kind == PLUMB_SIZES && !second ? PLUMB_BYTES : run->options->unit;
}

/*
 * Whether the line of the second measure fills this column.  Sums of bytes have no counterpart in
 * it.
 */
static bool has_second(const struct table *t, const struct column *c)
{
	if (c->figure == TOTAL)
		return t->r->run->tool->measure.kind != PLUMB_SIZES;
	return c->figure == MEAN || c->figure == MIN || c->figure == MAX || c->figure == PERCENTILE;
}

static void cell(const struct table *t, const struct column *c, const struct plumb_row *row,
		 bool second, char *text, size_t size)
{
	const struct plumb_options *o = t->r->run->options;

	if (second && !has_second(t, c)) {
		snprintf(text, size, "%s", c == t->columns ? t->r->run->tool->measure.second : "");
	} else if (c->figure == FIELD) {
		if (row->slot)
			c->field->format(row->key, text, size);
		else
			snprintf(text, size, "%s", c == t->columns ? "[other]" : "");
	} else if (c->figure <= ERRORS) {
		snprintf(text, size, "%llu", (unsigned long long)value(t, c, row));
	} else if (c->figure == OWN) {
		c->own->format(c->own->id, t->r, row, text, size);
	} else if (c->figure == EXTRA) {
		plumb_format_size(value(t, c, row), text, size);
	} else {
		plumb_format_time(value(t, c, row), measure_unit(t->r->run, second), text, size);
		if (c->figure == PERCENTILE &&
		    plumb_percentile_is_weak(plumb_dist_count(&row->dist),
					     o->percentiles[c->percentile].p))
			strncat(text, "?", size - strlen(text) - 1);
	}
}

static bool shown(const struct table *t, const struct plumb_row *row)
{
	return row->count >= t->r->run->options->min_count;
}

static void widen(struct table *t, const struct plumb_row *row, bool second)
{
	char text[CELL];
	int width;

	for (size_t i = 0; i < t->n; i++) {
		cell(t, &t->columns[i], row, second, text, sizeof(text));
		width = strlen(text);
		if (width > t->columns[i].width)
			t->columns[i].width = width;
	}
}

static void measure(struct table *t)
{
	struct plumb_row second;

	for (size_t i = 0; i < t->n; i++)
		t->columns[i].width = strlen(t->columns[i].heading);
	for (size_t j = 0; j < t->r->snap->n; j++) {
		if (!shown(t, &t->r->snap->rows[j]))
			continue;
		widen(t, &t->r->snap->rows[j], false);
		if (t->r->run->tool->measure.second) {
			second = second_of(&t->r->snap->rows[j]);
			widen(t, &second, true);
		}
	}
}

/* Gives paths as much width as is left, and a least one. */
static void narrow(struct table *t, FILE *out)
{
	int left = plumb_output_width(out) + 1;
	struct column *c;

	for (size_t i = 0; i < t->n; i++)
		left -= t->columns[i].width + 1;
	for (size_t i = 0; i < t->n && left < 0; i++) {
		c = &t->columns[i];
		if (c->figure != FIELD || !(c->field->bit & t->r->run->tool->keys.paths) ||
		    c->width <= SHORTEST_PATH)
			continue;
		left += c->width;
		c->width = left > SHORTEST_PATH ? left : SHORTEST_PATH;
		left -= c->width;
	}
}

static void print_line(const struct table *t, const struct plumb_row *row, bool second, FILE *out)
{
	const struct column *c;
	char text[CELL];
	bool left;

	for (size_t i = 0; i < t->n; i++) {
		c = &t->columns[i];
		if (row)
			cell(t, c, row, second, text, sizeof(text));
		left = c->figure == FIELD && (!c->field->number || (second && !i));
		fprintf(out, "%s%*s", i ? " " : "", left ? -c->width : c->width,
			row ? plumb_text_end(text, c->width) : c->heading);
	}
	fputc('\n', out);
}

/* qsort has no context argument. */
static const struct table *sorted_table;
static struct column sorted_by;

static int compare(const void *a, const void *b)
{
	uint64_t x = value(sorted_table, &sorted_by, a), y = value(sorted_table, &sorted_by, b);

	return (x < y) - (x > y);
}

static void sort_rows(struct table *t)
{
	const struct plumb_run *run = t->r->run;

	sorted_table = t;
	sorted_by = (struct column){.figure = CALLS};
	if (run->options->sort)
		find_figure(run->tool, run->options, run->options->sort, &sorted_by);
	qsort(t->r->snap->rows, t->r->snap->n, sizeof(*t->r->snap->rows), compare);
}

static void print_row(const struct table *t, const struct plumb_row *row, FILE *out)
{
	const struct plumb_run *run = t->r->run;
	struct plumb_row second = second_of(row);

	print_line(t, row, false, out);
	if (run->options->histogram && plumb_has_histogram(run->tool->measure.kind))
		plumb_report_histogram(row, measure_unit(run, false), out);
	if (row->split)
		plumb_report_split(run->tool, row, out);
	if (!run->tool->measure.second)
		return;
	print_line(t, &second, true, out);
	if (run->options->histogram)
		plumb_report_histogram(&second, measure_unit(run, true), out);
}

static void print_rows(struct table *t, FILE *out)
{
	const struct plumb_options *o = t->r->run->options;
	size_t printed = 0, hidden = 0;

	print_line(t, NULL, false, out);
	for (size_t i = 0; i < t->r->snap->n; i++) {
		const struct plumb_row *row = &t->r->snap->rows[i];

		if (!shown(t, row) || (o->top && printed == o->top)) {
			hidden++;
			continue;
		}
		print_row(t, row, out);
		printed++;
	}
	if (hidden)
		fprintf(out, "(%zu more rows: --min-count, --top)\n", hidden);
	if (!t->r->snap->n)
		fprintf(out, "(no %s)\n", counted(t->r->run->tool));
}

void plumb_report_table(struct plumb_report *r, FILE *out)
{
	struct table t = {.r = r};

	if (r->run->options->interval)
		plumb_report_time(r, out);
	lay_out(&t);
	sort_rows(&t);
	measure(&t);
	narrow(&t, out);
	print_rows(&t, out);
	plumb_flights_print(r, out);
	if (r->final)
		plumb_report_footer(r, out);
}
