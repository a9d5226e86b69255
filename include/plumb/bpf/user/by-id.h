/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* by id: the key of states that are not those of threads, but of something else in a process. */
#pragma once

#include <plumb/bpf/core/types.h>

struct plumb_id {
	__u64 id; /* in the process: of a goroutine its address, of a USDT pair an argument */
	__u32 pid;
	__u32 image; /* of the process: PLUMB_IMAGE() */
};
_Static_assert(sizeof(struct plumb_id) == 16, "no hidden padding in a hash key");

/*
 * Distinguishes a process from a later one with its pid, and from itself before execve(): by the
 * address at which the kernel began its stack, as in /proc/PID/stat.
 */
#define PLUMB_IMAGE(start_stack) ((__u32)((start_stack) >> 4))

/* The hash of these states, for the loader (plumb_bpf.states). */
#define PLUMB_STATES_BY_ID "plumb_states_by_id"
