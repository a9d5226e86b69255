/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * in-order: records of a ring buffer, printed in the order in which their events ended.  For that
 * order each is kept for about 10 ms, or as long as the tool says, before it is printed: records of
 * different CPUs can arrive out of order.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/core/tool.h>

struct plumb_in_order {
	size_t size;  /* of a record, which begins with its end: uint64_t, ns, CLOCK_MONOTONIC */
	size_t least; /* of a shorter one, to which zeros are added; 0: all have SIZE */
	/* Print the first line, of headings, and a record's: what follows after the time. */
	void (*heading)(FILE *out);
	void (*print)(const void *record, FILE *out);
	/* In JSON a record is an object of this name, to which this adds what follows the time. */
	const char *json_name;
	void (*add_json)(const void *record, json_t *json);
	/* Whether a record that arrives is to be printed; NULL: all are. */
	bool (*takes)(const void *record, size_t size);
	uint64_t on_its_way; /* ns: a record arrives that long after its end at most; 0: 10 ms */
	bool may_keep;       /* --keep keeps records instead of intervals */
	bool awaits;         /* set by TAKES: one will come without waking this process */
	const struct plumb_run *run; /* once all is attached */
	/* Not printed yet. */
	char *list;
	size_t n, room;
	bool printed; /* at least one was */
	/* The last MOST records, instead of printing them; 0: they are printed. */
	char *kept;
	size_t most;
	uint64_t seen; /* records that were kept, or are no more */
};

/* A tool's ring buffer: {MAP, &plumb_in_order, a struct plumb_in_order}. */
extern const struct plumb_ring_handlers plumb_in_order;

/*
 * TOOL's records that --keep can keep; NULL: it has none.  plumb_in_order_hold() returns 0 or
 * -ENOMEM; plumb_in_order_dump() prints those that are kept, and returns 0 or -errno.
 */
struct plumb_in_order *plumb_in_order_of(const struct plumb_tool *tool);
int plumb_in_order_hold(struct plumb_in_order *o, size_t most);
int plumb_in_order_dump(struct plumb_in_order *o, FILE *out);
