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

void report_redraw(const struct report *r, FILE *out)
{
	struct winsize screen = {};
	char *rows = NULL, *footer = NULL;
	size_t size, used;
	FILE *f;

	if (ioctl(fileno(out), TIOCGWINSZ, &screen) || !screen.ws_row)
		screen.ws_row = 24;
	f = open_memstream(&rows, &size);
	if (f) {
		report_rows(r, f);
		fclose(f);
	}
	f = open_memstream(&footer, &size);
	if (f) {
		report_footer(r, f);
		fclose(f);
	}
	fputs("\033[H\033[J", out);
	if (rows && footer) {
		used = count_lines(footer) + 1; /* and the line that the cursor is on */
		print_lines(rows, screen.ws_row > used ? screen.ws_row - used : 1, out);
		fputs(footer, out);
	}
	free(rows);
	free(footer);
}
