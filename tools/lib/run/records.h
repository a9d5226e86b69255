/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* records: what a tool's programs hand over one by one, taken from their ring buffers. */
#ifndef RECORDS_H
#define RECORDS_H

#include <plumb/session/session.h>

struct plumb_records;

/* A ring, as its records are given to the tool. */
struct plumb_source {
	struct plumb_records *records;
	const struct plumb_ring *ring;
};

struct plumb_records {
	struct plumb_session *session;
	struct ring_buffer *rings; /* NULL: the tool has none */
	struct plumb_source sources[PLUMB_MAX_RINGS];
	size_t n;
	uint64_t turn;  /* when the taking is to end */
	uint64_t again; /* when it is to go on; 0: when something comes */
	int err;        /* of a record that could not be dealt with */
};

/* Once the session's programs are loaded; 0, or -errno after saying why. */
int plumb_records_open(struct plumb_records *r, struct plumb_session *s);
void plumb_records_close(struct plumb_records *r);

/* Is readable when something has come; -1: nothing ever does. */
int plumb_records_fd(const struct plumb_records *r);

/*
 * Takes what has come, but for so long only, before all else is to be looked at again.
 * Returns R->err: nothing more is taken once that is set.
 */
int plumb_records_take(struct plumb_records *r);

/* Takes all, when no more can come; R->err as above. */
void plumb_records_drain(struct plumb_records *r);

#endif
