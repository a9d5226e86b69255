/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/text.h>
#include <plumb/terminal/text-table.h>

#define WIDTH 80
#define GAP   2
/* Minimum width of the last column; if less is left, it is not wrapped. */
#define NARROW 20

struct plumb_text_table {
	const char *const *headings;
	size_t columns;
	char **cells;
	size_t n, room;
};

struct plumb_text_table *plumb_text_table_new(const char *const *headings, size_t n)
{
	struct plumb_text_table *g = calloc(1, sizeof(*g));

	if (!g)
		abort();
	*g = (struct plumb_text_table){.headings = headings, .columns = n};
	return g;
}

void plumb_text_table_cell(struct plumb_text_table *g, const char *format, ...)
{
	va_list args;
	char *text;

	if (g->n == g->room) {
		g->room = g->room * 2 ?: 64;
		g->cells = reallocarray(g->cells, g->room, sizeof(*g->cells));
	}
	va_start(args, format);
	if (!g->cells || vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	g->cells[g->n++] = plumb_escaped_text(text);
	free(text);
}

static bool is_right(const struct plumb_text_table *g, size_t column)
{
	return *g->headings[column] == '>';
}

static const char *heading(const struct plumb_text_table *g, size_t column)
{
	return g->headings[column] + is_right(g, column);
}

static int width_of(const struct plumb_text_table *g, size_t column)
{
	size_t width = strlen(heading(g, column));

	for (size_t i = column; i < g->n; i += g->columns)
		if (strlen(g->cells[i]) > width)
			width = strlen(g->cells[i]);
	return width;
}

/* Prints the last column's text, wrapped; further lines are indented by INDENT columns. */
static void print_wrapped(const char *text, int indent, FILE *out)
{
	int room = WIDTH - indent < NARROW ? 0 : WIDTH - indent;

	while (room && strlen(text) > (size_t)room) {
		int cut = room;

		while (cut && text[cut] != ' ')
			cut--;
		if (!cut) /* a word is wider than the column */
			cut = strcspn(text, " ");
		if (!text[cut])
			break;
		fprintf(out, "%.*s\n%*s", cut, text, indent, "");
		text += cut + 1;
	}
	fputs(text, out);
}

/* Row 0 is the headings.  Blanks are printed just before a cell, so that none ends a line. */
static void print_row(const struct plumb_text_table *g, const int *widths, size_t row, FILE *out)
{
	int column = 0, at = 0; /* where this column begins, and the end of the line so far */

	for (size_t c = 0; c < g->columns; c++) {
		const char *text = row ? g->cells[(row - 1) * g->columns + c] : heading(g, c);
		int length = strlen(text), from = column;

		if (is_right(g, c))
			from += widths[c] - length;
		if (length) {
			fprintf(out, "%*s", from - at, "");
			if (c + 1 == g->columns && !is_right(g, c))
				print_wrapped(text, from, out);
			else
				fputs(text, out);
			at = from + length;
		}
		column += widths[c] + GAP;
	}
	fputc('\n', out);
}

void plumb_text_table_print(const struct plumb_text_table *g, FILE *out)
{
	int *widths = calloc(g->columns, sizeof(*widths));

	if (!widths)
		abort();
	for (size_t c = 0; c < g->columns; c++)
		widths[c] = width_of(g, c);
	for (size_t row = 0; g->n && row <= g->n / g->columns; row++)
		print_row(g, widths, row, out);
	free(widths);
}

void plumb_text_table_free(struct plumb_text_table *g)
{
	for (size_t i = 0; g && i < g->n; i++)
		free(g->cells[i]);
	if (g)
		free(g->cells);
	free(g);
}
