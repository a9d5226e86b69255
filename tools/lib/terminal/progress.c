/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/terminal/progress.h>

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>

#define FIRST_NS (PLUMB_SECOND / 2)
#define NEXT_NS  (PLUMB_SECOND / 10)
#define LARGE    500

static struct {
	uint64_t due; /* CLOCK_MONOTONIC; 0: no work has begun */
	bool shown;
} line;

static void hide(void)
{
	if (line.shown)
		fputs("\r\033[K", stderr);
	line.shown = false;
}

void plumb_progress_end(void)
{
	hide();
	line.due = 0;
}

static void show(const char *format, ...)
{
	const int used = snprintf(NULL, 0, "%s: ", program_invocation_short_name);
	char text[256];
	va_list args;

	if (!isatty(STDERR_FILENO))
		return;
	line.shown = true;
	plumb_log_before = hide;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* A line that wraps could not be removed. */
	fprintf(stderr, "\r%s: %.*s\033[K", program_invocation_short_name,
		plumb_output_width(stderr) - 1 - used, text);
}

void plumb_progress(const char *what, uint64_t done, uint64_t n)
{
	const uint64_t now = plumb_now();

	if (!line.due)
		line.due = now + FIRST_NS;
	if (now < line.due)
		return;
	line.due = now + NEXT_NS;
	show("%s %llu of %llu", what, (unsigned long long)done, (unsigned long long)n);
}

void plumb_progress_at_once(const char *what, uint64_t n)
{
	if (n >= LARGE)
		show("%s %llu at once", what, (unsigned long long)n);
}
