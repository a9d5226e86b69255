/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ring: what programs send one by one, and who takes it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plumb_run;

#define PLUMB_DONE 1 /* what idle() below may return */

struct plumb_ring_handlers {
	/* Called when all programs are attached; may be NULL. */
	void (*begin)(void *context, struct plumb_run *run);
	/* Called for each record; 0, or -errno to end the run (-EPIPE: the output is closed). */
	int (*record)(void *context, const void *record, size_t size);
	/*
	 * Called when no record is left (ALL), or between many records.  *AGAIN is 0; set it to
	 * the ns after which this is to be called again without a record.  0, PLUMB_DONE if the
	 * end of the run need not wait for that, or -errno to end the run.
	 */
	int (*idle)(void *context, bool all, uint64_t *again);
};

/* A ring buffer of the programs, by name, and what its records are for, as of in-order.h. */
struct plumb_ring {
	const char *map;
	const struct plumb_ring_handlers *handlers;
	void *context;
};

#define PLUMB_MAX_RINGS 2
