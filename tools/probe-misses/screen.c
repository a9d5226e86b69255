/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report in place of the previous one, cut to the height of the screen. */
#include "report.h"
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* Print the first ROOM lines of TEXT. */
static void print_lines(const char *text, size_t room, FILE *out)
{
	const char *end = text;

	while (room && *end) {
		end = strchrnul(end, '\n');
		end += *end == '\n';
		room--;
	}
	fwrite(text, 1, end - text, out);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* What PRINT prints, malloc'd; NULL: no memory. */
static char *print_to_text(const struct report *r, void (*print)(const struct report *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	print(r, f);
	fclose(f);
	return text;
}

void report_redraw(const struct report *r, FILE *out)
{
	char *rows = print_to_text(r, report_rows), *footer = print_to_text(r, report_footer);
	struct winsize screen = {};
	size_t used;

	if (ioctl(fileno(out), TIOCGWINSZ, &screen) || !screen.ws_row)
		screen.ws_row = 24;
	fputs("\033[H\033[J", out);
	if (rows && footer) {
		used = count_lines(footer) + 1; /* and the line that the cursor is on */
		print_lines(rows, screen.ws_row > used ? screen.ws_row - used : 1, out);
		fputs(footer, out);
	}
	free(rows);
	free(footer);
}
