/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stacks: what crosses the boundary of a row that is a stack.
 *
 * Each different stack is kept once, under a number that is a hash of it; a row's key
 * has the numbers.  Whose addresses a user stack has, only its process can tell.
 */
#ifndef PLUMB_STACKS_H
#define PLUMB_STACKS_H

#include <plumb/key.h>

/* As kernel.perf_event_max_stack, unless that is set; deeper ones are truncated. */
#define PLUMB_STACK_DEPTH 127

/* So many programs can be in the midst of taking one on a CPU, where they can be preempted. */
#define PLUMB_STACKS_AT_ONCE 64

struct plumb_stack {
	__u64 mix; /* all of the hash */
	__u32 n;
	__u32 told; /* of a user stack: the loader was told whose it is */
	__u64 addresses[PLUMB_STACK_DEPTH];
};

struct plumb_stack_key {
	struct plumb_who who;
	__s32 user, kernel; /* PLUMB_NO_STACK, PLUMB_LOST_STACK or a number */
	__u32 tgid;         /* of the user stack; 0: none */
	__u32 what;         /* the tool's */
};
_Static_assert(sizeof(struct plumb_stack_key) == 72, "no hidden padding in a hash key");

/* In plumb_config.by: rows are told apart by their stacks. */
#define PLUMB_BY_STACK (1U << 31)

#define PLUMB_NO_STACK   (-1)
#define PLUMB_LOST_STACK (-2)

#define PLUMB_MAX_STACKS (1U << 20)

#ifndef __bpf__
#include <argp.h>
#include <plumb/tool.h>

/*
 * What tools of stacks have in common: struct plumb_tool's rings, print, rows_json, save
 * and footer are these.  Where a clock takes them (samples) nothing in them is the probe's
 * own.
 */
enum { PLUMB_STACK_FOLDED = 0x3000, PLUMB_STACK_FLAME, PLUMB_STACK_INLINES, PLUMB_STACK_MAX };

/* clang-format off */
#define PLUMB_STACK_OPTIONS                                                                        \
	{NULL, 0, NULL, 0, "Stacks:", 50},                                                         \
		{"folded", PLUMB_STACK_FOLDED, NULL, 0, "a line a stack, as flame graphs are made of", 50}, \
		{"flame", PLUMB_STACK_FLAME, "FILE.svg", 0, "at the end write a flame graph", 50},    \
		{"inlines", PLUMB_STACK_INLINES, NULL, 0, "show inlined functions, where debug information has them", 50}, \
		{"max-stacks", PLUMB_STACK_MAX, "N", 0, "different stacks that are kept; default 16384", 50}
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
extern const struct plumb_ring plumb_stacks_rings[];
int plumb_stacks_take(void *session, void *record, size_t size);
int plumb_stacks_taken(bool all);
int plumb_stacks_print(struct plumb_report *r);
int plumb_stacks_rows_json(const struct plumb_report *r, FILE *out);
int plumb_stacks_save(const struct plumb_session *s, const struct plumb_snapshot *total,
		      uint64_t elapsed);
void plumb_stacks_footer(FILE *out);
#endif

#endif
