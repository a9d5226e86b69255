/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report as a table: keys to the left, figures to the right, the ledger below. */
#include <plumb/core/table.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/inflight.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/text.h>

#define CELL 256

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
	return run->tool->measure.kind == PLUMB_SIZES && !second ? PLUMB_BYTES : run->options.unit;
}

/*
 * Whether the line of the second measure fills this column.  Sums of bytes have no counterpart in
 * it.
 */
static bool has_second(const struct plumb_table *t, const struct plumb_shown *c)
{
	if (c->figure == PLUMB_FIGURE_TOTAL)
		return t->r->run->tool->measure.kind != PLUMB_SIZES;
	return c->figure == PLUMB_FIGURE_MEAN || c->figure == PLUMB_FIGURE_MIN ||
	       c->figure == PLUMB_FIGURE_MAX || c->figure == PLUMB_FIGURE_PERCENTILE;
}

/* "NAME", as capitals; what is told by the second as "RATE/S". */
static void heading(const struct plumb_shown *c, char *text, size_t size)
{
	snprintf(text, size, "%s%s", c->name, c->kind == PLUMB_COLUMN_RATE ? "/s" : "");
	for (; *text; text++)
		*text = toupper((unsigned char)*text);
}

static void format_figure(struct plumb_table *t, const struct plumb_shown *c,
			  const struct plumb_row *row, bool second, char *text, size_t size)
{
	const double value = plumb_table_value(t, c, row);

	if (c->kind == PLUMB_COLUMN_TEXT)
		snprintf(text, size, "%s", c->own->text(c->own->id, t->r, row) ?: "-");
	else if (isnan(value))
		snprintf(text, size, "-");
	else if (c->kind == PLUMB_COLUMN_COUNT)
		snprintf(text, size, "%.0f", value);
	else if (c->kind == PLUMB_COLUMN_RATE)
		snprintf(text, size, "%.*f", value < 100 ? 1 : 0, value);
	else if (c->kind == PLUMB_COLUMN_RATIO)
		snprintf(text, size, "%.3f", value);
	else if (c->figure == PLUMB_FIGURE_PART)
		snprintf(text, size, value > 0 && value < 0.5 ? "<1" : "%.0f", value);
	else if (c->kind == PLUMB_COLUMN_PERCENT)
		plumb_format_percent(value, text, size);
	else if (c->kind == PLUMB_COLUMN_BYTES && !second)
		plumb_format_size(value, text, size);
	else
		plumb_format_time(value, t->r->run->options.unit, text, size);
}

void plumb_table_cell(struct plumb_table *t, const struct plumb_shown *c,
		      const struct plumb_row *row, bool second, char *text, size_t size)
{
	const struct plumb_options *o = &t->r->run->options;

	if (second && !has_second(t, c)) {
		snprintf(text, size, "%s", c == t->columns ? t->r->run->tool->measure.second : "");
	} else if (c->figure == PLUMB_FIGURE_FIELD) {
		if (row->slot)
			plumb_field_format(c->field, row->key, text, size);
		else
			snprintf(text, size, "%s", c == t->columns ? "[other]" : "");
		/* A thread's name can be; a blank cell is no column for awk. */
		if (row->slot && !*text && c->field->bit & (PLUMB_BY_COMM | PLUMB_BY_PROCESS))
			snprintf(text, size, "\\x00"); /* as no name is printed */
	} else if (c->figure == PLUMB_FIGURE_ERRORS &&
		   !plumb_row_counts_errors(t->r->run->tool, row)) {
		snprintf(text, size, "-");
	} else {
		format_figure(t, c, row, second, text, size);
		if (c->figure == PLUMB_FIGURE_PERCENTILE &&
		    plumb_percentile_is_weak(plumb_dist_count(&row->dist),
					     o->percentiles[c->index].p))
			strncat(text, "?", size - strlen(text) - 1);
	}
}

static bool shown(const struct plumb_table *t, const struct plumb_row *row)
{
	return row->count >= t->r->run->options.min_count;
}

static void widen(struct plumb_table *t, const struct plumb_row *row, bool second)
{
	char text[CELL];
	int width;

	for (size_t i = 0; i < t->n; i++) {
		plumb_table_cell(t, &t->columns[i], row, second, text, sizeof(text));
		width = strlen(text);
		if (width > t->columns[i].width)
			t->columns[i].width = width;
	}
}

static void measure(struct plumb_table *t)
{
	char text[CELL];
	const uint64_t most = t->most;
	struct plumb_row second;
	uint64_t printed = 0;

	for (size_t i = 0; i < t->n; i++)
		heading(&t->columns[i], text, sizeof(text)), t->columns[i].width = strlen(text);
	for (size_t j = 0; j < t->r->snap->n && (!most || printed < most); j++) {
		if (!shown(t, &t->r->snap->rows[j]))
			continue;
		printed++;
		widen(t, &t->r->snap->rows[j], false);
		if (t->r->run->tool->measure.second) {
			second = second_of(&t->r->snap->rows[j]);
			widen(t, &second, true);
		}
	}
}

/* Gives paths, also those of cgroups, as much width as is left, and a least one. */
static void narrow(struct plumb_table *t, FILE *out)
{
	const uint32_t paths = PLUMB_BY_CGROUPS | t->r->run->tool->keys.paths;
	int left = plumb_output_width(out) + 1;
	struct plumb_shown *c;

	for (size_t i = 0; i < t->n; i++)
		left -= t->columns[i].width + 1;
	for (size_t i = 0; i < t->n && left < 0; i++) {
		c = &t->columns[i];
		if (c->figure != PLUMB_FIGURE_FIELD || !(c->field->bit & paths) ||
		    c->width <= PLUMB_SHORTEST_PATH)
			continue;
		left += c->width;
		c->width = left > PLUMB_SHORTEST_PATH ? left : PLUMB_SHORTEST_PATH;
		left -= c->width;
	}
}

static void print_line(struct plumb_table *t, const struct plumb_row *row, bool second, FILE *out)
{
	const struct plumb_shown *c;
	char text[CELL];
	bool left;

	for (size_t i = 0; i < t->n; i++) {
		c = &t->columns[i];
		if (row)
			plumb_table_cell(t, c, row, second, text, sizeof(text));
		else
			heading(c, text, sizeof(text));
		left = c->figure == PLUMB_FIGURE_FIELD && (!c->field->number || (second && !i));
		fprintf(out, "%s%*s", i ? " " : "", left ? -c->width : c->width,
			plumb_text_end(text, c->width));
	}
	fputc('\n', out);
}

/* Returns how many lines it took; of histograms none. */
static uint64_t print_row(struct plumb_table *t, const struct plumb_row *row, FILE *out)
{
	const struct plumb_run *run = t->r->run;
	struct plumb_row second = second_of(row);
	uint64_t lines = 1;

	print_line(t, row, false, out);
	if (run->options.histogram && plumb_has_histogram(run->tool->measure.kind))
		plumb_report_histogram(row, measure_unit(run, false), out);
	if (row->split && run->tool->measure.split_by)
		lines += run->tool->measure.split_by->print(t->r, row, out);
	if (!run->tool->measure.second)
		return lines;
	print_line(t, &second, true, out);
	if (run->options.histogram)
		plumb_report_histogram(&second, measure_unit(run, true), out);
	return lines + 1;
}

static void print_rows(struct plumb_table *t, FILE *out)
{
	const struct plumb_shown part = {.figure = PLUMB_FIGURE_SHARE};
	uint64_t lines = 0, printed = 0, hidden = 0;
	double share = 0;
	char text[16];

	print_line(t, NULL, false, out);
	for (size_t i = 0; i < t->r->snap->n; i++) {
		const struct plumb_row *row = &t->r->snap->rows[i];

		if (shown(t, row) && !(t->most && printed >= t->most) &&
		    !(t->lines && lines >= t->lines)) {
			lines += print_row(t, row, out);
			printed++;
			continue;
		}
		share += plumb_table_value(t, &part, row);
		hidden++;
	}
	if (hidden && t->r->run->tool->measure.unlike)
		fprintf(out, "(%llu more rows: --min-count, --top)\n", (unsigned long long)hidden);
	else if (hidden)
		fprintf(out, "(%llu more rows, %s %% of all: --min-count, --top)\n",
			(unsigned long long)hidden,
			plumb_format_percent(share, text, sizeof(text)));
	if (*t->note)
		plumb_print_wrapped(t->note, out);
	if (!t->r->snap->n)
		fprintf(out, "(no %s)\n", plumb_table_counted(t->r->run->tool));
}

void plumb_report_table(const struct plumb_report *r, FILE *out)
{
	const struct plumb_in_flight *in_flight = plumb_parts_in_flight(r->run->tool);
	const struct plumb_view *view = &r->run->tool->view;
	struct plumb_table t = {.r = r, .most = r->run->options.top};

	if (r->run->options.interval && (!view->one_by_one || r->flights->n))
		plumb_report_time(r, out);
	if (view->rows) {
		view->rows(r, out);
	} else if (!view->one_by_one) {
		plumb_table_lay_out(&t);
		measure(&t);
		plumb_parts_fit(&t, out);
		narrow(&t, out);
		print_rows(&t, out);
	}
	plumb_parts_add(r, out, NULL);
	if (in_flight)
		in_flight->print(r, out);
	if (r->final)
		plumb_report_footer(r, out);
}
