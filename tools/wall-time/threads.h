/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* threads: the life of each thread during the trace, and what it did at both ends of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/sched/meanwhile.h>
#include <plumb/core/run.h>
#include <plumb/core/snapshot.h>
#include <plumb/inflight/inflight.h>

#include "wall-time.h"

/* Where /proc says that a thread is. */
struct spot {
	char state;    /* 'R', 'S', ...; 0: nobody looked */
	uint32_t what; /* as plumb_stack_key.what */
	struct plumb_frames frames;
};

struct life {
	uint32_t pid, tid;
	char comm[PLUMB_COMM_LEN];
	const char *start; /* function, as one of its stacks shows; NULL: none does */
	uint64_t in_rows;  /* ns since the trace began */
	int64_t ns;        /* of the report */
	struct spot first; /* when the trace began */
	/* As it was when it last waited long for a CPU; kind 0: it has not. */
	struct plumb_meanwhile waiter;
	bool alive;
	/* Of a live one at the end, ns that are in no row: */
	uint64_t off, on; /* since it left its CPU; and on the CPU that it got since */
	struct spot last;
	const struct wall_key
		*off_key; /* until lives_look(); NULL: it has not left its CPU, or nobody saw it */
};

struct lives {
	struct life *all; /* by tid */
	size_t n;
};

/* At the beginning of the trace. */
void lives_begin(const struct plumb_run *run);

/* Looks at all threads, each time before the rows of a report are read. */
void lives_look(const struct plumb_run *run);

/* The lives until the time of SNAP, since BEGAN. */
struct lives lives_of(const struct plumb_run *run, const struct plumb_snapshot *snap,
		      uint64_t began);
void lives_free(struct lives *lives);
struct life *lives_find(const struct lives *lives, uint32_t tid);
