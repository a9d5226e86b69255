/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that stacks*.c share. */
#ifndef STACKS_H
#define STACKS_H

#include "folded.h"
#include <plumb/stacks/stacks.h>
#include <plumb/symbols/symbols.h>

extern struct plumb_symbolizer *plumb_stacks_symbolizer;
/*
 * As plumb_frames_name().  OWN: keep frames of BPF programs and their callers, which in a sample
 * are code that the thread ran.
 */
void plumb_frames_fill(struct plumb_frames *f, const struct bpf_object *object,
		       const struct plumb_stack_key *key, bool own);

/* Separates a stack from that of the thread's waker, which follows in reverse: innermost first. */
#define WOKEN_BY "--"

/* The innermost frame of a stack that had not ended. */
#define IN_FLIGHT "[in flight]"

/* The stacks of a report. */
struct plumb_stacks {
	struct plumb_tree tree;
	struct plumb_folded *all; /* each with another path, heaviest first */
	size_t n;
};

struct plumb_flame;
/*
 * Builds the stacks of a report.  Rows whose addresses differ may have the same names; these are
 * merged.  For lines and graphs, what is IN_FLIGHT is a stack as well.  The stacks of an earlier
 * run are added for FLAME, unless it is NULL.
 */
struct plumb_stacks plumb_stacks_fold(const struct plumb_report *r, bool in_flight,
				      struct plumb_flame *flame);
void plumb_stacks_free(struct plumb_stacks *stacks);

bool plumb_stacks_have_key(const struct plumb_run *run);
/* "1234-nginx" */
void plumb_stacks_print_key(const struct plumb_run *run, const struct plumb_row *row, FILE *out);
const struct plumb_waker *plumb_stacks_waker_of(const struct plumb_row *row);

#endif
