/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* base: errors and numbers of the command line, and the clock; workload.h has the rest. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The text of --help, defined by each program. */
extern const char usage[];

/* ---- errors ---- */

static inline void complain(const char *format, va_list args)
{
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	exit(1);
}

__attribute__((noreturn, format(printf, 1, 2))) static inline void misuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	fputs(usage, stderr);
	exit(2);
}

static inline void help_if_asked(int argc, char **argv)
{
	if (argc != 2 || (strcmp(argv[1], "-h") && strcmp(argv[1], "--help")))
		return;
	fputs(usage, stdout);
	exit(0);
}

/* A decimal number of [least, most], digits only. */
static inline uint64_t parse_number(const char *text, const char *what, uint64_t least,
				    uint64_t most)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < least || n > most)
		misuse("%s '%s' is not a number of %llu to %llu", what, text,
		       (unsigned long long)least, (unsigned long long)most);
	return n;
}

/* Uses openat2, since openat may be a call that is counted. */
static inline int open_uncounted(const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags, .mode = flags & O_CREAT ? 0644 : 0};

	return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* ---- time ---- */

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* For the workload's own waits, since nanosleep may be a call that is counted. */
static inline void pause_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, &t) && errno == EINTR)
		;
}
