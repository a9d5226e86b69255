/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kept: the last intervals of a run, in a ring of bounded memory.
 *
 * An interval is kept as packed rows (packed.h) and what its report needs besides.  The oldest one
 * goes when the ring is full, or when the memory is used up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/core/report.h>
#include <plumb/recorder/packed.h>

struct plumb_kept_interval {
	struct plumb_packed rows;
	struct timespec start, end;
	uint64_t clock, elapsed, seq;
	struct plumb_ledger ledger;
	struct plumb_verdict verdict;
	uint64_t missed;
	bool missed_known, cpus_watched, cpus_changed;
	char *own; /* JSON of the tool's own members, malloc'd; NULL: made from the rows */
};

struct plumb_kept {
	struct plumb_kept_interval *all; /* room for MOST, the oldest at FIRST */
	size_t most, first, n;
	size_t bytes, budget; /* of rows and OWN */
	uint64_t forgotten;   /* that left before MOST newer ones had come */
	char *keys;           /* of each slot */
	size_t key_size, slots;
};

/* How many intervals --keep=TIME has. */
uint64_t plumb_kept_most(const struct plumb_options *o);
/* Sets the numbers in K; the bytes that it may take altogether. */
uint64_t plumb_kept_plan(struct plumb_kept *k, const struct plumb_tool *tool,
			 const struct plumb_options *o);
/* Allocates what plumb_kept_plan() has planned.  0 or -ENOMEM. */
int plumb_kept_open(struct plumb_kept *k);
void plumb_kept_free(struct plumb_kept *k);

/* Adds the interval of R.  0 or -ENOMEM. */
int plumb_kept_add(struct plumb_kept *k, const struct plumb_report *r);
/* Prints each as a line of JSON, the oldest first; RUN and SESSION of LIKE are theirs.  0, -errno.
 */
int plumb_kept_print(const struct plumb_kept *k, const struct plumb_report *like, FILE *out);
