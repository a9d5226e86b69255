/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>

#include <bpf/libbpf.h>

int plumb_verbosity;

static char *diverted;
static size_t diverted_room;

void plumb_divert(char *text, size_t size)
{
	diverted = text;
	diverted_room = size;
	if (text)
		*text = 0;
}

void (*plumb_log_before)(void);

/* Messages have names that others chose, of files and of what is in them. */
static void print(const char *format, va_list args)
{
	char line[1024], escaped[4 * sizeof(line)];
	int n, room = sizeof(line);

	if (diverted) {
		vsnprintf(diverted, diverted_room, format, args);
		return;
	}
	n = snprintf(line, room, "%s: ", program_invocation_short_name);
	if (n < room)
		vsnprintf(line + n, room - n, format, args);
	plumb_escape_text(escaped, line, sizeof(escaped));
	if (plumb_log_before)
		plumb_log_before();
	fprintf(stderr, "%s\n", escaped);
}

void plumb_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
}

void plumb_info(const char *format, ...)
{
	va_list args;

	if (plumb_verbosity < 1)
		return;
	va_start(args, format);
	print(format, args);
	va_end(args);
}

int plumb_error(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
	return -abs(error);
}

void plumb_usage_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(format, args);
	va_end(args);
	exit(2);
}

/* Only with -vv, since libbpf also prints errors of mechanisms that are merely tried. */
static int libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
	if (plumb_verbosity < 2 || (level == LIBBPF_DEBUG && plumb_verbosity < 3))
		return 0;
	return vfprintf(stderr, format, args);
}

void plumb_log_init(void)
{
	libbpf_set_print(libbpf_print);
}
