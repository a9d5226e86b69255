/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stacks: prints rows that are stacks, with names for addresses. */
#pragma once

#include <plumb/bpf/stack/stacks.h>
#include <plumb/core/stacking.h>
#include <plumb/core/tool.h>
#include <plumb/inflight/inflight.h>

/* The options of tools whose rows are stacks. */
extern struct plumb_stacks_options {
	bool folded, inlines, max_given;
	const char *flame, *diff; /* files; NULL: none */
	__u64 max;
	/*
	 * Rows count in plumb_row.counters[0] the ns of threads that sleep in one call most of the
	 * time: whether it is one that waits for work, and the time is idle. NULL: none is.
	 */
	bool (*is_for_work)(const struct plumb_frames *f);
	/* Prints lines below the stacks of a table; NULL: none. */
	void (*below)(const struct plumb_report *r, FILE *out);
	size_t waker; /* in a key, of a struct plumb_waker whose stacks are printed, too; 0: none */
	const char *waker_json; /* what JSON calls these; NULL: "waker_stack" */
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

/*
 * For struct plumb_tool: its rows are stacks, kernel and user ones, and it has the options above.
 * Its programs use bpf/stack/stack.bpf.h.
 */
extern const struct plumb_stacking plumb_stacking;
/* The same as the first, but the tool itself prints the stacks that are in its rows or records. */
extern const struct plumb_stacking plumb_stacking_own;
/* The same, of kernel stacks only. */
extern const struct plumb_stacking plumb_stacking_own_kernel;

/*
 * The name of a user stack's innermost function where the tool knows it, for processes that were
 * gone before their mappings could be read.  NULL: no tool does.
 */
extern const char *(*plumb_stacks_first)(const struct plumb_stack_key *key);

/*
 * The function with which the thread of a whole user stack was started, without what libraries put
 * in front of it: "main", "flush_worker".  NULL: not known, as of C++ functions that are inlined in
 * those of its library, and of threads of interpreters.
 */
const char *plumb_frames_start(const struct plumb_frames *f);
/* " (flush_worker)", if START, "" if not known, says more than the thread's name COMM; returns
 * TEXT.
 */
const char *plumb_start_text(const char *start, const char *comm, char *text, size_t size);

void plumb_frames_name(struct plumb_frames *f, const struct bpf_object *object,
		       const struct plumb_stack_key *key);
