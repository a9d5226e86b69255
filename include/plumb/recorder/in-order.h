/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * in-order: records of a ring buffer, printed in the order in which their events ended.  For that
 * order each is kept for about 10 ms, or as long as the tool says, before it is printed: records of
 * different CPUs can arrive out of order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct plumb_in_order {
	size_t size; /* of a record, which begins with its end: uint64_t, ns, CLOCK_MONOTONIC */
	int (*print)(const void *record, FILE *out); /* 0 or -errno */
	uint64_t on_its_way; /* ns: a record arrives that long after its end at most; 0: 10 ms */
	/* Not printed yet. */
	char *list;
	size_t n, room;
	bool printed; /* at least one was */
	/* The last MOST records, instead of printing them; 0: they are printed. */
	char *kept;
	size_t most;
	uint64_t seen; /* records that were kept, or are no more */
};

/* The record() and idle() of struct plumb_ring. */
int plumb_in_order_add(struct plumb_in_order *o, const void *record, size_t size);
int plumb_in_order_print(struct plumb_in_order *o, bool all, uint64_t *again);

/*
 * Records that --keep can keep, if a tool has offered them; else NULL.  plumb_in_order_hold()
 * returns 0 or -ENOMEM; plumb_in_order_dump() prints those that are kept, and returns 0 or -errno.
 */
void plumb_in_order_offer(struct plumb_in_order *o);
struct plumb_in_order *plumb_in_order_offered(void);
int plumb_in_order_hold(struct plumb_in_order *o, size_t most);
int plumb_in_order_dump(const struct plumb_in_order *o, FILE *out);

/* If none was printed: "none took TIME or longer". */
void plumb_in_order_print_none(const struct plumb_in_order *o, uint64_t min_ns, FILE *out);

/* The wall-clock time at END. */
struct timespec plumb_in_order_time(uint64_t end);
/* The same as "HH:MM:SS.UUUUUU", local time. */
void plumb_in_order_print_time(uint64_t end, FILE *out);

/* The size of a ring buffer from the argument TEXT of --buffer; or exits after a message. */
uint64_t plumb_in_order_buffer(const char *text);
