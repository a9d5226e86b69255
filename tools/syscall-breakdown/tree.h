/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tree: functions by who calls them, with the time that they and all below them account for. */
#ifndef TREE_H
#define TREE_H

#include <jansson.h>
#include <plumb/report/stacks.h>
#include <stdio.h>

/* ns, and the samples by which what was measured on the CPU is divided; with all that is below. */
struct tree_time {
	uint64_t on_cpu, blocked, preempted_runq, samples;
};

struct tree;

struct tree *tree_new(void);
void tree_free(struct tree *tree);

/*
 * Adds a stack of kernel frames and its time; no frames: the time is only in the whole.  With CALL
 * all that is below the branch of that name, whose time on the CPU was measured as the whole's was.
 */
void tree_add(struct tree *tree, const char *call, const struct plumb_frames *frames,
	      const struct tree_time *time);

/* Branches of at least PERCENT of the whole, and how many are not shown. */
void tree_print(const struct tree *tree, double percent, FILE *out);
json_t *tree_json(const struct tree *tree);

/*
 * Of N samples K were here: between which shares of the whole that is, with 95 % confidence (after
 * Wilson, whose bounds hold for few of them too); of none it is not known at all.
 */
void tree_bounds(uint64_t k, uint64_t n, double *low, double *high);

/*
 * What a part gets of WHOLE by its weight: BEFORE is the sum of the weights of the parts
 * before it, AMONG that of all.  Whole numbers, and their sum is WHOLE.
 */
uint64_t tree_share(uint64_t whole, uint64_t weight, uint64_t before, uint64_t among);

#endif
