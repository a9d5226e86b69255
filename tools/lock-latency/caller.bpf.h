/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* caller: the place in the kernel that waits for a lock. */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include "lock-latency.h"

/* As the loader finds them; 0: not known. */
const volatile struct lock_text lock_texts[LOCK_TEXTS] = {};

/* Frames of the tracepoint, of the lock and of the caller. */
#define CALLER_FRAMES 16

/* Of a CPU; a program that interrupts this one there may write another stack. */
PLUMB_MAP(caller_stacks, PERCPU_ARRAY, 1, __u32, __u64[CALLER_FRAMES]);

/* The caller of each lock without a name that was first seen to wait. */
PLUMB_MAP(caller_of_lock, HASH, 16384, __u64, __u64);

/* Whether the return address ADDRESS is in functions I. */
static __always_inline bool is_in_text(__u64 address, __u32 i)
{
	return address > lock_texts[i].from && address <= lock_texts[i].to;
}

/* The stack, of N frames; NULL: it is not known where the functions are that take locks. */
static __always_inline __u64 *caller_frames(void *ctx, __u32 *n)
{
	__u32 zero = 0;
	__u64 *stack = bpf_map_lookup_elem(&caller_stacks, &zero);
	long size;

	if (!stack || !lock_texts[LOCK_TEXT_SLEEPS].from)
		return NULL;
	size = bpf_get_stack(ctx, stack, CALLER_FRAMES * sizeof(*stack), 0);
	*n = size > 0 ? size / sizeof(*stack) : 0;
	return stack;
}

/*
 * The innermost return address outside of the functions that take the lock, which the scheduler
 * shares if it SLEEPS; 0: not known.
 */
static __always_inline __u64 caller_walk(void *ctx, bool sleeps)
{
	__u64 *stack, caller = 0;
	bool in_lock = false;
	__u32 n = 0, i;

	stack = caller_frames(ctx, &n);
	for (i = 0; stack && i < CALLER_FRAMES && i < n && !caller; i++) {
		if (is_in_text(stack[i], LOCK_TEXT_SPINS) ||
		    (sleeps && is_in_text(stack[i], LOCK_TEXT_SLEEPS)))
			in_lock = true;
		else if (in_lock)
			caller = stack[i];
	}
	return caller;
}

/*
 * Which of these functions the current thread is in, the innermost; LOCK_TEXTS: none; -1: not
 * known.
 */
static __always_inline int caller_text(void *ctx)
{
	__u64 *stack;
	__u32 n = 0, i, text;

	stack = caller_frames(ctx, &n);
	for (i = 0; stack && i < CALLER_FRAMES && i < n; i++)
		for (text = 0; text < LOCK_TEXTS; text++)
			if (is_in_text(stack[i], text))
				return text;
	return n ? LOCK_TEXTS : -1;
}

/* The same that waited first for LOCK: its stack is walked once. */
static __always_inline __u64 caller_of(void *ctx, __u64 lock, bool sleeps)
{
	__u64 *known = bpf_map_lookup_elem(&caller_of_lock, &lock), caller;

	if (known)
		return *known;
	caller = caller_walk(ctx, sleeps);
	if (caller)
		bpf_map_update_elem(&caller_of_lock, &lock, &caller, BPF_ANY);
	return caller;
}
