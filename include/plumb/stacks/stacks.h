/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stacks: prints rows that are stacks, with names for addresses. */
#pragma once

#include <plumb/bpf/stack/stacks.h>
#include <plumb/core/tool.h>
#include <plumb/inflight/inflight.h>

/* The options of all tools of stacks; their rings and view are declared below. */
extern struct plumb_stacks_options {
	bool folded, inlines, max_given;
	const char *flame, *diff; /* files; NULL: none */
	__u64 max;
	size_t waker; /* in a key, of a struct plumb_waker whose stacks are printed, too; 0: none */
} plumb_stacks_options;

/* clang-format off */
#define PLUMB_STACK_OPTIONS                                                                        \
	{.doc = "Stacks:", .group = 45},                                                           \
		{"folded", 0, NULL, "print one line per stack, the input of flame graph scripts", 45, .given = &plumb_stacks_options.folded}, \
		{"flame", 0, "FILE.svg", "write a flame graph at the end", 45, .text = &plumb_stacks_options.flame}, \
		{"diff", 0, "FILE.folded", "colour the flame graph by changes since FILE, which --folded has printed", 45, .text = &plumb_stacks_options.diff}, \
		{"inlines", 0, NULL, "show inlined functions if there is debug information", 45, .given = &plumb_stacks_options.inlines}, \
		{"max-stacks", 0, "N", "maximum number of different stacks; default 16384", 45, .number = &plumb_stacks_options.max, .given = &plumb_stacks_options.max_given, .min = 1, .max = PLUMB_MAX_STACKS}
/* clang-format on */

bool plumb_stacks_options_given(void);
/* Called after the last option. */
void plumb_stacks_finish(struct plumb_options *o);

/* Called before tracing begins; plumb_stacks_finish() calls it. */
void plumb_stacks_begin(void);

/*
 * The name of a user stack's innermost function where the tool knows it, for processes that were
 * gone before their mappings could be read.  NULL: no tool does.
 */
extern const char *(*plumb_stacks_first)(const struct plumb_stack_key *key);

void plumb_frames_name(struct plumb_frames *f, const struct bpf_object *object,
		       const struct plumb_stack_key *key);

/* Configures the maps of stacks in an object that is opened and not yet loaded. */
void plumb_stacks_configure(struct bpf_object *object);
/*
 * Reads the kernel's symbols, once; for a tool's settle(), if it has no ring of processes.  Before
 * programs are attached, the kernel has no names for them; later, capabilities are given up, and
 * reading would delay noting processes, some of which would have exited by then.
 */
void plumb_stacks_read_kernel(const struct plumb_run *run);
/*
 * The ring of processes seen in stacks: their mappings are read while they exist, so that addresses
 * can be named after they have exited.  The array has only this ring.
 */
extern const struct plumb_ring plumb_stacks_rings[];
void plumb_stacks_begin_notes(struct plumb_run *run);
int plumb_stacks_note(const void *record, size_t size);
int plumb_stacks_note_due(bool all, uint64_t *again);
#define PLUMB_STACKS_RING                                                                          \
	{                                                                                          \
		"plumb_processes", plumb_stacks_begin_notes, plumb_stacks_note,                    \
			plumb_stacks_note_due                                                      \
	}
int plumb_stacks_print(struct plumb_report *r);
int plumb_stacks_rows_json(const struct plumb_report *r, FILE *out);
int plumb_stacks_save(struct plumb_report *r);
void plumb_stacks_footer(FILE *out);

/* The view of a tool whose rows are stacks, without the footer. */
#define PLUMB_STACKS_VIEW                                                                          \
	.print = plumb_stacks_print, .rows_json = plumb_stacks_rows_json, .save = plumb_stacks_save
