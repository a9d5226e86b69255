/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * own stack: lets a uprobe program use the stack of its thread.
 *
 * Two threads of a CPU can be in a uprobe program at the same time. From 6.13 on the stack of a
 * program that needs 64 bytes or more is one per CPU, which they then overwrite for each other.
 * Programs with a tail call use the thread's own stack, even if the call is never made. Kernels
 * that give no such stacks get no tail call: those of arm64 before 6.0 refuse it where there are
 * functions.
 */
#pragma once

#include <plumb/bpf/core/ledger.bpf.h>

PLUMB_MAP(plumb_nowhere, PROG_ARRAY, 1, __u32, __u32);

enum priv_stack_mode___any { PRIV_STACK_ADAPTIVE___any = 2 }; /* from 6.13 on */

/* The condition must be one that the verifier cannot decide, or it removes the call. */
static __always_inline void keep_own_stack(void *ctx)
{
	if (bpf_core_enum_value_exists(enum priv_stack_mode___any, PRIV_STACK_ADAPTIVE___any) &&
	    plumb_live > 1) /* it is 0 or 1 */
		bpf_tail_call(ctx, &plumb_nowhere, 0);
}
