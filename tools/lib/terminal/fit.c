/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fit: on a terminal a table has as many rows as there are lines, no line that wraps, and above it
 * what all rows have in common.  For programs that read it, it is whole.
 */
#include "details.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <plumb/core/part.h>
#include <plumb/core/table.h>

/* Lines of a screen that are not rows: the command, what all have in common, heading, notes,
 * footer. */
#define OTHER_LINES 11
#define LEAST_LINES 5
#define CELL        256

static void take_out(struct plumb_table *t, size_t i)
{
	t->n--;
	memmove(&t->columns[i], &t->columns[i + 1], (t->n - i) * sizeof(t->columns[0]));
}

/* Whether all rows have the same in the column, which is then in TEXT. */
static bool is_common(struct plumb_table *t, const struct plumb_shown *c, char *text, size_t size)
{
	const struct plumb_snapshot *snap = t->r->snap;
	char other[CELL];

	if (c->figure != PLUMB_FIGURE_FIELD || !snap->n)
		return false;
	for (size_t i = 0; i < snap->n; i++) {
		plumb_table_cell(t, c, &snap->rows[i], false, i ? other : text, size);
		if (i && strcmp(text, other) != 0)
			return false;
	}
	return true;
}

/* The first column has the names of rows that have no key and of second lines. */
static bool has_names(const struct plumb_table *t)
{
	for (size_t i = 0; i < t->r->snap->n; i++)
		if (!t->r->snap->rows[i].slot)
			return true;
	return t->r->run->tool->measure.second;
}

/* "pid 1234, comm postgres" */
static void print_common(struct plumb_table *t, FILE *out)
{
	const char *between = "";
	char text[CELL];

	for (size_t i = 0; i < t->n && !has_names(t);) {
		if (!is_common(t, &t->columns[i], text, sizeof(text))) {
			i++;
			continue;
		}
		fprintf(out, "%s%s %s", between, t->columns[i].name, text);
		between = ", ";
		take_out(t, i);
	}
	if (*between)
		fputs(":\n", out);
}

/* LEAST: with the paths as short as they can be. */
static int width_of(const struct plumb_table *t, bool least)
{
	const uint32_t paths = PLUMB_BY_CGROUPS | t->r->run->tool->keys.paths;
	int width = -1;

	for (size_t i = 0; i < t->n; i++) {
		const struct plumb_shown *c = &t->columns[i];
		const bool shorter = least && c->figure == PLUMB_FIGURE_FIELD &&
				     c->field->bit & paths && c->width > PLUMB_SHORTEST_PATH;

		width += (shorter ? PLUMB_SHORTEST_PATH : c->width) + 1;
	}
	return width;
}

static void drop(struct plumb_table *t, size_t i)
{
	const size_t n = strlen(t->note);

	snprintf(t->note + n, sizeof(t->note) - n, "%s%s", n ? ", " : "(no room for ",
		 t->columns[i].name);
	take_out(t, i);
}

/* The part of the split that is not seen, or has least of the rows' time; T->n: there is none. */
static size_t least_part(struct plumb_table *t)
{
	const struct plumb_snapshot *snap = t->r->snap;
	double least = INFINITY, sum;
	size_t at = t->n;

	for (size_t i = 0; i < t->n; i++) {
		if (t->columns[i].figure != PLUMB_FIGURE_PART)
			continue;
		sum = 0;
		for (size_t j = 0; j < snap->n; j++)
			sum += plumb_table_value(t, &t->columns[i], &snap->rows[j]) *
			       snap->rows[j].sum;
		if (isnan(sum))
			return i;
		if (sum >= least)
			continue;
		least = sum;
		at = i;
	}
	return at;
}

/* Takes out what says least of a distribution; if lines would wrap all the same, what else there
 * is besides the count, the total and the maximum, the tool's own and parts of the split last. */
static void drop_columns(struct plumb_table *t, int width)
{
	static const char *const order[] = {"p90", "p99.9", "p50", "errors", "rate"},
				 *const more[] = {"share", "p99"};
	const size_t n_order = sizeof(order) / sizeof(order[0]),
		     n = n_order + sizeof(more) / sizeof(more[0]);
	size_t end = 0, part;

	for (size_t i = 0; i < n && width_of(t, i >= n_order) >= width; i++)
		for (size_t j = 0; j < t->n; j++)
			if (!strcmp(t->columns[j].name,
				    i < n_order ? order[i] : more[i - n_order])) {
				drop(t, j);
				break;
			}
	for (size_t i = t->n; i-- && width_of(t, true) >= width;)
		if (t->columns[i].figure == PLUMB_FIGURE_OWN)
			drop(t, i);
	while (width_of(t, true) >= width && (part = least_part(t)) < t->n)
		drop(t, part);
	end = strlen(t->note);
	if (end)
		snprintf(t->note + end, sizeof(t->note) - end, ": --columns)");
}

static void fit(struct plumb_table *t, FILE *out)
{
	const struct plumb_options *o = &t->r->run->options;
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return;
	if (!o->top_given && !o->histogram && size.ws_row)
		t->lines = size.ws_row > OTHER_LINES + LEAST_LINES ? size.ws_row - OTHER_LINES
								   : LEAST_LINES;
	print_common(t, out);
	if (!o->columns)
		drop_columns(t, size.ws_col);
}

const struct plumb_part plumb_terminal_part = {
	.name = "terminal",
	.fit = fit,
	.footer = print_details,
};
