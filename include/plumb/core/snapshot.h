/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* snapshot: rows and ledger from the maps of a BPF object at one time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <plumb/bpf/core/config.h>
#include <plumb/bpf/core/ledger.h>
#include <plumb/bpf/key/key.h>
#include <plumb/bpf/sched/return.h>
#include <plumb/bpf/sched/split.h>
#include <plumb/core/percentile.h>

struct bpf_object;

/* How the calls of a bucket spent their time.  The part after those off the CPU is on-cpu. */
struct plumb_split_buckets {
	uint32_t bucket;
	uint64_t ns[PLUMB_MAX_PARTS];
	uint64_t led[PLUMB_MAX_PARTS]; /* calls of which this part was the largest */
};

/* Rows of a snapshot: times in ns, cumulative or of an interval. */
struct plumb_row {
	uint32_t slot; /* 0: [other] */
	const void *key;
	uint64_t count, errors, sum, counters[PLUMB_COUNTERS];
	struct plumb_dist dist;
	uint64_t second_sum; /* of the tool's second histogram */
	struct plumb_dist second;
	struct plumb_split_buckets *split; /* of non-empty buckets; NULL: without --split */
	size_t n_split;
	double order; /* its place in a report: higher values come first */
};

struct plumb_snapshot {
	struct plumb_row *rows;
	size_t n;
	void *keys; /* what rows[].key points into */
	/* By slot of a row: the next one of those that were added to it; 0, and NULL: none. */
	uint32_t *joined;
	size_t n_joined;
	struct plumb_ledger ledger;
	struct plumb_returns returns; /* waits on the way out, if the tool knows of them */
	uint64_t missed;              /* executions of programs that the kernel skipped */
	uint64_t missed_whole; /* of these: each may have lost a whole call, not one end of it */
	bool missed_known;
	uint32_t stages;   /* rows in which a call is recorded; 0: one */
	size_t stage_at;   /* if more than one: where the key has the stage, 0: the whole call */
	bool missed_ends;  /* a missed execution is one end of a call; else a whole call */
	bool cpus_watched; /* else nobody looked whether */
	bool cpus_changed; /* events of CPUs that came or went are missing, nobody knows how many */
	bool in_cookies;   /* calls in flight are only in the cookies of sessions */
	struct timespec taken; /* CLOCK_REALTIME */
	uint64_t clock;        /* ns, CLOCK_MONOTONIC */
};

/* The maps of a loaded BPF object. */
struct plumb_maps {
	const struct bpf_object *object;
	const struct plumb_config *config;
	const struct plumb_ledger *ledgers; /* PLUMB_LEDGERS of them */
	__u64 *read_until;                  /* plumb_read_until of ledger.bpf.h; NULL: none */
	size_t key_size;
};

/* Reads the maps; not the executions that the kernel missed.  0, or -errno after a message. */
int plumb_snapshot_take(const struct plumb_maps *maps, struct plumb_snapshot *snap);
/* Adds rows that have the same key to the one with the lowest slot; 0 or -ENOMEM. */
int plumb_snapshot_join(struct plumb_snapshot *snap, size_t key_size);
/* The next slot, after SLOT, of a row that it was added to; 0: there are no more. */
static inline uint32_t plumb_snapshot_joined(const struct plumb_snapshot *snap, uint32_t slot)
{
	return slot < snap->n_joined ? snap->joined[slot] : 0;
}
/* Removes empty rows. */
void plumb_snapshot_prune(struct plumb_snapshot *snap);
/* The rows of the interval between OLDER and NOW; their keys belong to NOW. */
int plumb_snapshot_since(struct plumb_snapshot *delta, const struct plumb_snapshot *now,
			 const struct plumb_snapshot *older);
void plumb_snapshot_free(struct plumb_snapshot *snap);
