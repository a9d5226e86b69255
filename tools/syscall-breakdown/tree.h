/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tree: a call's time by functions and their callers, in which it includes all below them. */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include <plumb/core/report.h>
#include <plumb/stacks/stacks.h>

/* ns, and the samples that divide the time on the CPU; both include all branches below. */
struct tree_time {
	uint64_t on_cpu, blocked, preempted_runq, samples;
};

struct tree;

struct tree *tree_new(void);
void tree_free(struct tree *tree);

/*
 * Adds a stack of kernel frames and its time; without frames the time is added to the root only.
 * With CALL all this is below a branch of that name, whose time on the CPU is measured, as the
 * root's is.
 */
void tree_add(struct tree *tree, const char *call, const struct plumb_frames *frames,
	      const struct tree_time *time);

/* Print branches of at least PERCENT of the whole, and the number of those not shown. */
void tree_print(const struct tree *tree, double percent, FILE *out);
json_t *tree_json(const struct tree *tree);

/*
 * The 95 % confidence interval of a branch's share, if it has K of N samples (Wilson's interval,
 * which holds for few samples too).  Without samples it is 0 to 1.
 */
void tree_bounds(uint64_t k, uint64_t n, double *low, double *high);

/*
 * The share of WHOLE of a part by its WEIGHT: BEFORE is the sum of the weights of the parts
 * before it, AMONG that of all parts.  Shares are integers, and their sum is WHOLE.
 */
uint64_t tree_share(uint64_t whole, uint64_t weight, uint64_t before, uint64_t among);

/*
 * --- calls.c: the sums over all calls of each system call ---
 *
 * Their time on the CPU is measured; it is divided among stacks by the samples of this system call
 * only.
 */

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

/* Of a row: is it of calls, or of those of a user stack; the name of its system call (if
 * row->slot), the frames of its stack. */
bool row_is_calls(const struct plumb_row *row);
bool row_is_callers(const struct plumb_row *row);
const char *row_syscall(const struct plumb_row *row, char *text, size_t size);
void row_frames(struct plumb_frames *f, const struct plumb_report *r, const struct plumb_row *row);
