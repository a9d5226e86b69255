/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * singles: prints single calls (--slower), one line each, in the order in which they ended.  For
 * that order each call is kept for about 10 ms before it is printed.
 */
#ifndef IO_SINGLES_H
#define IO_SINGLES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct io_submitter;
struct plumb_part_name;
struct plumb_run;

void singles_begin(bool json);

/* Whether nobody looks for the part, in this run. */
bool singles_lack(const struct plumb_part_name *part);

/* In JSON. */
json_t *singles_submitter(const struct io_submitter *by);

/* The callbacks of struct plumb_ring. */
void singles_attached(struct plumb_run *run);
int singles_add(const void *record, size_t size);
int singles_print(bool all, uint64_t *again);

#endif
