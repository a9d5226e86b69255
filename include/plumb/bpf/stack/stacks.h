/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stacks: the key of a row that is a stack, shared by loaders and programs.
 *
 * Each different stack is kept once, under a number that is a hash of it; a row's key has the
 * numbers. The addresses of a user stack are those of its process.
 */
#pragma once

#include <plumb/bpf/key/key.h>

/* The default of kernel.perf_event_max_stack; deeper stacks are truncated. */
#define PLUMB_STACK_DEPTH 127

/* How many programs can take a stack at the same time on a CPU, if they can be preempted. */
#define PLUMB_STACKS_AT_ONCE 64

struct plumb_stack {
	__u64 mix;   /* the whole hash */
	__u64 image; /* of a user stack */
	__u32 n;
	__u16 told; /* of a user stack: the loader was notified of its process */
	__u16 walk; /* of a user stack: enum plumb_unwind_end */
	__u64 addresses[PLUMB_STACK_DEPTH];
};

/*
 * What a process executes, as numbers that change with each execve(): where the kernel has put its
 * stack, code and heap, which /proc/PID/stat has, too.
 */
static inline __u64 plumb_stack_image(__u64 start_stack, __u64 end_code, __u64 start_brk)
{
	const __u64 mix = 0x9e3779b97f4a7c15ULL;

	return ((start_stack * mix) ^ end_code) * mix ^ start_brk;
}

struct plumb_stack_key {
	struct plumb_who who;
	__s32 user, kernel; /* PLUMB_NO_STACK, PLUMB_LOST_STACK or a number */
	__u32 tgid;         /* of the user stack; 0: none */
	__u32 what;         /* the tool's */
};
_Static_assert(sizeof(struct plumb_stack_key) == 72, "no hidden padding in a hash key");

/* In plumb_config.by: the key has stacks. */
#define PLUMB_BY_STACK (1U << 31)

#define PLUMB_NO_STACK   (-1)
#define PLUMB_LOST_STACK (-2)

#define PLUMB_MAX_STACKS (1U << 20)
