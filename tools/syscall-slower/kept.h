/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kept: the longest calls of a run, for files that are written at its end. */
#ifndef KEPT_H
#define KEPT_H

#include "syscall-slower.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
