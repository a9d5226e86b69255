/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* tree: functions by their callers; their time includes that of all functions below them. */
#ifndef TREE_H
#define TREE_H

#include <jansson.h>
#include <stdio.h>
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

#endif
