/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * calls: the calls of each system call, and how their time is divided: what one was on the CPU,
 * which is measured, by its own samples only.
 */
#ifndef CALLS_H
#define CALLS_H

#include <jansson.h>
#include <plumb/report/report.h>
#include <plumb/report/stacks.h>
#include <stdio.h>

struct tree;

/* All calls of a system call, or of all. */
struct call {
	uint32_t what; /* as in plumb_stack_key, of its stacks */
	uint64_t count, ns, on_cpu;
	uint64_t samples; /* in rows of their own, and those for which there was no room */
	uint64_t lost;    /* the latter */
};

struct calls {
	size_t n;
	struct call list[];
};

struct calls *calls_of(const struct plumb_snapshot *snap);
void calls_free(struct calls *calls);
struct call calls_sum(const struct calls *calls);
/* Where there are several system calls each is a branch of its own. */
struct tree *calls_tree(const struct calls *calls, const struct plumb_report *r);
json_t *calls_json(const struct calls *calls);
/* A line for each with too few samples to divide its time on the CPU. */
void calls_warn(const struct calls *calls, FILE *out);

/* Rows: is it of calls, of which system call (row->slot), and the frames of its stack. */
bool row_is_calls(const struct plumb_row *row);
const char *row_syscall(const struct plumb_row *row, char *text, size_t size);
void row_frames(struct plumb_frames *f, const struct plumb_report *r, const struct plumb_row *row);

#endif
