/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* slower: what the files of syscall-slower share. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/core/report.h>
#include <plumb/recorder/in-order.h>

#include "syscall-slower.h"

/* --- calls.c: prints slow calls, one line each, in the order in which they ended --- */

struct kept;

/* STACKS: print the stack of the longest time off the CPU; WAKERS: that of the waking thread. */
void calls_begin(bool stacks, bool wakers);
extern struct plumb_in_order slow_calls;

/* The longest calls, which are kept from then on; never freed. */
struct kept *calls_keep(void);

/* --- arguments.c: "read(3</a/file>, 0x7f00, 4096) = 12", of calls in slow_calls.list --- */

void arguments_begin(void);
/* C will be recorded again, without what its descriptors are. */
void arguments_recall(const struct slow_call *c);
void arguments_print(const struct slow_call *c, FILE *out);
void arguments_add_json(const struct slow_call *c, json_t *j);

/* --- kept.c: the longest calls of a run, for files that are written at its end --- */

#define KEPT_MOST 10000

struct kept_call {
	uint64_t begin, ns;                     /* CLOCK_MONOTONIC */
	uint64_t parts[PLUMB_RETURN_PARTS + 1]; /* on_cpu is the last */
	int64_t ret;
	uint32_t pid, tid, nr, abi, cpu;
	char comm[PLUMB_COMM_LEN];
	bool in_flight; /* it had not ended; nothing is known of its parts */
};

/* All calls until there are KEPT_MOST, then the longest. */
struct kept {
	struct kept_call *calls;
	size_t n;
	uint64_t dropped; /* shorter ones */
};

/* The call takes the place of the shortest one if there is no room. */
void kept_add(struct kept *k, const struct slow_call *c, bool in_flight);
/* Removes the call of thread TID that ended at END, if it is there. */
void kept_remove(struct kept *k, uint32_t tid, uint64_t end);
/* Orders calls by process, thread and time, after which none can be added. */
void kept_sort(struct kept *k);

/* ns of a part (plumb_return_parts); the rest of the time is on the CPU. */
uint64_t slow_call_part(const struct slow_call *c, unsigned int part);

/* --- timeline.c, trace-events.c: calls as a picture, a lane for each thread, and as a trace --- */

/* A sorted list of calls, of a run that began at START, and the report of it. */
struct timeline {
	const struct kept *kept;
	const struct plumb_report *report;
	uint64_t start; /* CLOCK_MONOTONIC; no call began before */
};

/*
 * For plumb_picture_save(), with a timeline: the picture, and trace events as JSON, which Perfetto
 * and chrome://tracing open.
 */
int timeline_draw(void *timeline, FILE *out);
int timeline_trace(void *timeline, FILE *out);
