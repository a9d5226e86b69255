/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stacks: what crosses the boundary of a row that is a stack.
 *
 * Each different stack is kept once, under a number that is a hash of it; a row's key
 * has the numbers.  Whose addresses a user stack has, only its process can tell.
 */
#ifndef PLUMB_BPF_STACKS_H
#define PLUMB_BPF_STACKS_H

#include <plumb/bpf/key/key.h>

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

#endif
