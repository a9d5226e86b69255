/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rows: what reading and subtracting snapshots share. */
#pragma once

#include <stdlib.h>
#include <plumb/core/snapshot.h>

/*
 * A call that waits on its way out is taken back (sched/return.h), from the bucket that it was
 * counted in; never below 0, also if that is not certain.
 */
static inline void keep_natural(uint64_t *n)
{
	if ((int64_t)*n < 0)
		*n = 0;
}

static inline bool holds_anything(const struct plumb_split_buckets *p)
{
	uint64_t any = 0;

	for (int i = 0; i < PLUMB_MAX_PARTS; i++)
		any |= p->ns[i] | p->led[i];
	return any;
}

static inline void free_row(struct plumb_row *row)
{
	free(row->dist.buckets);
	free(row->second.buckets);
	free(row->split);
}

static inline bool is_empty(const struct plumb_row *row)
{
	uint64_t any = row->count | row->errors | row->sum;

	for (int i = 0; i < PLUMB_COUNTERS; i++)
		any |= row->counters[i];
	return !any;
}

/* Slots are never freed, so a slot identifies a row. */
static inline int by_slot(const void *a, const void *b)
{
	const struct plumb_row *x = a, *y = b;

	return (x->slot > y->slot) - (x->slot < y->slot);
}
