/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * copies: PROGRAM_COPIES(NAME, HOOK) { ... } makes the programs NAME_0, NAME_1, ... of one body,
 * which has the context as CTX and the number of the copy as COPY; PROGRAM_ONCE makes the first.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/core/copies.h>

#define PROGRAM_COPY(name, hook, copy)                                                             \
	SEC(hook) int name##_##copy(__u64 *ctx)                                                    \
	{                                                                                          \
		return name(ctx, copy);                                                            \
	}
#define PROGRAM_ONCE(name, hook)                                                                   \
	static __always_inline int name(__u64 *ctx, const __u32 copy);                             \
	PROGRAM_COPY(name, hook, 0)                                                                \
	static __always_inline int name(__u64 *ctx, const __u32 copy __attribute__((unused)))
#define PROGRAM_COPIES(name, hook)                                                                 \
	static __always_inline int name(__u64 *ctx, const __u32 copy);                             \
	PROGRAM_COPY(name, hook, 0)                                                                \
	PROGRAM_COPY(name, hook, 1)                                                                \
	PROGRAM_COPY(name, hook, 2)                                                                \
	PROGRAM_COPY(name, hook, 3)                                                                \
	static __always_inline int name(__u64 *ctx, const __u32 copy __attribute__((unused)))
_Static_assert(PLUMB_COPIES == 4, "a program each");
