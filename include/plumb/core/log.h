/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* log: messages on stderr; data alone is written to stdout. */
#pragma once

#include <stddef.h>

/* 0: errors and warnings; 1 (-v): also the tool's decisions; 2 (-vv): also libbpf's messages. */
extern int plumb_verbosity;

/* Called before each message, to clear its line; NULL: there is nothing to clear. */
extern void (*plumb_log_before)(void);

/* "TOOL: message", one write; what is not printable becomes \xHH, also a newline. */
void plumb_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void plumb_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Warn and return -error, so that an error cannot be printed and then lost:
 *	return plumb_error(EINVAL, "no such cgroup: %s", path);
 */
int plumb_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Diverts messages from stderr to TEXT, which then holds the last one without the tool's name, for
 * callers that report it themselves.  NULL ends the diversion.
 */
void plumb_divert(char *text, size_t size);

/* Wrong usage: one line, then exit with status 2. */
void plumb_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Redirects libbpf's messages to this log. */
void plumb_log_init(void);
