/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * source: a file, also one that gzip has compressed, pipe or standard input that is read line by
 * line.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A longer line is refused. */
#define SOURCE_LONGEST (64u << 20)

struct source {
	const char *name; /* for messages */
	FILE *lines;      /* NULL: it is not open */
	int fd, err;
	struct gzFile_s *gz; /* a file that is compressed; NULL: it is not */
	size_t since;        /* bytes after the last newline */
	bool too_long;       /* the rest of a line is passed over next */
	uint64_t line;       /* number of the last line, from 1 */
	bool whole;          /* the last line ended with a newline */
	uint64_t last;       /* for the caller: the end of the last report, ns */
};

/* A line without its newline, followed by a NUL; of all sources in turn. */
struct source_line {
	char *text;
	size_t n, room;
};

/* PATH, or "-"; S has to stay where it is.  0 or -errno after a message. */
int source_open(struct source *s, const char *path);
void source_close(struct source *s);

/*
 * Reads the next line.  Returns 1; 0 at the end; -errno after a message; -EMSGSIZE without one: the
 * line is longer than SOURCE_LONGEST, and its rest is passed over.
 */
int source_next(struct source *s, struct source_line *l);
