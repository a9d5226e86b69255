/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* log: everything that is not data goes to stderr, through here. */
#ifndef PLUMB_LOG_H
#define PLUMB_LOG_H

#include <stdarg.h>
#include <stddef.h>

/* 0: errors and warnings; 1 (-v): also what the tool decides; 2 (-vv): also libbpf's words. */
extern int plumb_verbosity;

/* "TOOL: message", one write. */
void plumb_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void plumb_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Warn and return -error, so that an error cannot be printed and then lost:
 *	return plumb_error(EINVAL, "no such cgroup: %s", path);
 */
int plumb_error(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * From now on the last of these messages goes to TEXT, without the tool's name, and
 * nothing to stderr: where it is the answer to a question.  NULL: as before.
 */
void plumb_divert(char *text, size_t size);

/* Wrong usage: one line, then exit with status 2. */
void plumb_usage_error(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* "EPERM" for 1 or -1, also the kernel's own restart codes; "errno 4000" where there is no name. */
const char *plumb_errno_name(int error);
/* What the kernel means by it when it refuses a probe: ", CONFIG_KPROBES is off"; "": not known. */
const char *plumb_errno_hint(int error);

/* Sends libbpf's messages here. */
void plumb_log_init(void);

#endif
