/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that stacks.c, stacks-options.c and stacks-report.c share. */
#ifndef STACKS_H
#define STACKS_H

#include <plumb/report/stacks.h>
#include <plumb/symbols/symbols.h>

extern struct plumb_symbolizer *plumb_stacks_symbolizer;
extern bool plumb_stacks_inlines;

extern struct plumb_stacks_options {
	bool folded;
	const char *flame, *diff; /* files; NULL: none */
	uint64_t max;
	size_t waker; /* offset of the waker in a key; 0: not requested */
} plumb_stacks_options;

/*
 * As plumb_frames_name().  OWN: keep frames of BPF programs and their callers, which in a sample
 * are code that the thread ran.
 */
void plumb_frames_fill(struct plumb_frames *f, const struct bpf_object *object,
		       const struct plumb_stack_key *key, bool own);

#endif
