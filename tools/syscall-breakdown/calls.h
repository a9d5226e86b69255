/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * calls: the sums over all calls of each system call.  Their time on the CPU is measured; it is
 * divided among stacks by the samples of this system call only.
 */
#ifndef CALLS_H
#define CALLS_H

#include <jansson.h>
#include <stdio.h>
#include <plumb/core/report.h>
#include <plumb/stacks/stacks.h>

struct tree;

/* Sums over all calls of one system call, or of all. */
struct call {
	uint32_t what; /* plumb_stack_key.what of its stacks */
	uint64_t count, ns, on_cpu;
	uint64_t samples; /* of stacks that have a row, and of those that were not kept */
	uint64_t lost;    /* of the latter only */
};

struct calls {
	size_t n;
	struct call list[];
};

struct calls *calls_of(const struct plumb_snapshot *snap);
void calls_free(struct calls *calls);
struct call calls_sum(const struct calls *calls);
/* If there are several system calls, each is a branch of its own. */
struct tree *calls_tree(const struct calls *calls, const struct plumb_report *r);
json_t *calls_json(const struct calls *calls);
/* Print a line for each system call with too few samples to divide its time on the CPU. */
void calls_warn(const struct calls *calls, FILE *out);

/* Of a row: is it of calls, the name of its system call (if row->slot), the frames of its stack. */
bool row_is_calls(const struct plumb_row *row);
const char *row_syscall(const struct plumb_row *row, char *text, size_t size);
void row_frames(struct plumb_frames *f, const struct plumb_report *r, const struct plumb_row *row);

#endif
