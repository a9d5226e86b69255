/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/base/progress.h>

#include <errno.h>
#include <plumb/base/clock.h>
#include <plumb/base/text.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_NS (PLUMB_SECOND / 2)
#define NEXT_NS  (PLUMB_SECOND / 10)

static struct {
	uint64_t due; /* CLOCK_MONOTONIC; 0: no work has begun */
	bool shown;
} line;

void plumb_progress_hide(void)
{
	if (line.shown)
		fputs("\r\033[K", stderr);
	line.shown = false;
}

void plumb_progress_end(void)
{
	plumb_progress_hide();
	line.due = 0;
}

void plumb_progress(const char *what, uint64_t done, uint64_t n)
{
	const uint64_t now = plumb_now();
	char text[256];
	int width;

	if (!line.due)
		line.due = now + FIRST_NS;
	if (now < line.due)
		return;
	line.due = now + NEXT_NS;
	if (!isatty(STDERR_FILENO))
		return;
	line.shown = true;
	snprintf(text, sizeof(text), "%s: %s %llu of %llu", program_invocation_short_name, what,
		 (unsigned long long)done, (unsigned long long)n);
	/* A line that wraps could not be removed. */
	width = plumb_output_width(stderr) - 1;
	fprintf(stderr, "\r%.*s\033[K", width, text);
}
