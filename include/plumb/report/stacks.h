/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stacks: rows that are stacks, named and printed. */
#ifndef PLUMB_STACKS_H
#define PLUMB_STACKS_H

#include <argp.h>
#include <plumb/bpf/stack/stacks.h>
#include <plumb/tool/tool.h>

/*
 * What tools of stacks have in common: struct plumb_tool's rings, print, rows_json, save
 * and footer are these.  Where a clock takes them (samples) nothing in them is the probe's
 * own.
 */
enum { PLUMB_STACK_FOLDED = 0x3000, PLUMB_STACK_FLAME, PLUMB_STACK_INLINES, PLUMB_STACK_MAX };

/* clang-format off */
#define PLUMB_STACK_OPTIONS                                                                        \
	{NULL, 0, NULL, 0, "Stacks:", 50},                                                         \
		{"folded", PLUMB_STACK_FOLDED, NULL, 0, "print one line per stack, the input of flame graph scripts", 50}, \
		{"flame", PLUMB_STACK_FLAME, "FILE.svg", 0, "write a flame graph at the end", 50},    \
		{"inlines", PLUMB_STACK_INLINES, NULL, 0, "show inlined functions if there is debug information", 50}, \
		{"max-stacks", PLUMB_STACK_MAX, "N", 0, "maximum number of different stacks; default 16384", 50}
/* clang-format on */

/* Before anything is traced; plumb_stacks_parse() does it at the end. */
void plumb_stacks_begin(void);

/*
 * Frames of a key's stacks, innermost first: the kernel's, then the user's; behind those that
 * are not all "[truncated]".
 */
struct plumb_frames {
	size_t n, n_kernel;
	char *text[2 * PLUMB_STACK_DEPTH + 3]; /* the last: where inlined ones are too many */
};

void plumb_frames_name(struct plumb_frames *f, const struct bpf_object *object,
		       const struct plumb_stack_key *key);
json_t *plumb_frames_json(const struct plumb_frames *f);
void plumb_frames_free(struct plumb_frames *f);

/* Argp's: 0 or ARGP_ERR_UNKNOWN. */
int plumb_stacks_parse(int key, char *text, struct plumb_options *o);
/* Keys have a struct plumb_waker at OFFSET, whose stacks are shown behind their own. */
void plumb_stacks_show_wakers(size_t offset);
/* Of an object that is opened and not yet loaded. */
void plumb_stacks_configure(struct bpf_object *object);
/* Of processes that end, whose addresses are to have names; a ring of PLUMB_STACKS_RING alone. */
extern const struct plumb_ring plumb_stacks_rings[];
void plumb_stacks_obstruct(struct plumb_session *s);
int plumb_stacks_note(const void *record, size_t size);
int plumb_stacks_note_due(bool all, uint64_t *again);
#define PLUMB_STACKS_RING                                                                          \
	{                                                                                          \
		"plumb_processes", plumb_stacks_obstruct, plumb_stacks_note, plumb_stacks_note_due \
	}
int plumb_stacks_print(struct plumb_report *r);
int plumb_stacks_rows_json(const struct plumb_report *r, FILE *out);
int plumb_stacks_save(const struct plumb_run *run, const struct plumb_snapshot *total,
		      uint64_t elapsed);
void plumb_stacks_footer(FILE *out);

/* The view of a tool whose rows are stacks, but for its footer. */
#define PLUMB_STACKS_VIEW                                                                          \
	.print = plumb_stacks_print, .rows_json = plumb_stacks_rows_json, .save = plumb_stacks_save

#endif
