/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * source: a file, also one that gzip has compressed, pipe or standard input that is read line by
 * line.
 *
 * All sources share one buffer, so that memory does not depend on their number: a file keeps its
 * position, and of a pipe what was read too far is kept.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer line is refused. */
#define SOURCE_LONGEST (64u << 20)

struct source {
	const char *name; /* for messages */
	int fd;
	bool is_file, at_end;
	struct gzFile_s *gz; /* a file that is compressed; NULL: it is not */
	bool too_long;       /* the rest of the last line is passed over next */
	char *kept;          /* of a pipe, or compressed */
	size_t n_kept;
	uint64_t line; /* number of the last line, from 1 */
	bool whole;    /* the last line ended with a newline */
	uint64_t last; /* for the caller: the end of the last report, ns */
};

struct source_buffer {
	char *data;
	size_t room, at, n; /* what is not read yet is from AT to N */
	struct source *of;
};

/* PATH, or "-".  0 or -errno after a message. */
int source_open(struct source *s, const char *path);
void source_close(struct source *s);

/*
 * Sets *TEXT to the next line without its newline, followed by a NUL; it is valid until the
 * next call.  Returns 1; 0 at the end; -errno after a message; -EMSGSIZE without
 * one: the line is longer than SOURCE_LONGEST, and the next call passes over it.
 */
int source_next(struct source *s, struct source_buffer *b, char **text, size_t *n);
void source_buffer_free(struct source_buffer *b);

#endif
