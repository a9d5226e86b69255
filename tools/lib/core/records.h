/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* records: the records of a tool's programs, read from their ring buffers. */
#pragma once

#include <plumb/core/run.h>

struct plumb_records;

/* A ring buffer, as context of its callback. */
struct plumb_source {
	struct plumb_records *records;
	const struct plumb_ring *ring;
};

struct plumb_records {
	struct plumb_run *run;
	struct ring_buffer *rings;                        /* NULL: the tool has none */
	struct plumb_source sources[PLUMB_MAX_RINGS + 1]; /* and the one of stacks */
	size_t n;
	uint64_t turn;  /* ns, CLOCK_MONOTONIC: when reading pauses */
	uint64_t again; /* when it continues; 0: when a record arrives */
	bool is_left;   /* the end of the run waits for it */
	int err;        /* of the tool's handlers; 0: none */
};

/* Called once the run's programs are attached; 0, or -errno after a message. */
int plumb_records_open(struct plumb_records *r, struct plumb_run *run);
void plumb_records_close(struct plumb_records *r);

/* An epoll descriptor, readable when records have arrived; -1: the tool has no ring buffer. */
int plumb_records_fd(const struct plumb_records *r);

/*
 * Reads the records that have arrived, for at most some 10 ms, so that signals and reports are not
 * delayed.  Returns R->err; once that is set, nothing more is read.
 */
int plumb_records_take(struct plumb_records *r);

/* Reads all records, once the programs write no more; an error is in R->err. */
void plumb_records_drain(struct plumb_records *r);
