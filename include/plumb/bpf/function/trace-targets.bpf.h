/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trace targets, BPF side: a program for each mechanism to reach kernel functions, tracepoints and
 * user functions. The tool defines what is done there:
 *
 *	static __always_inline bool fired(void *ctx, __u64 target, bool user, bool guarded)
 *
 * It returns whether the fire passed the filters.  USER: the target is a user function, whose
 * registers CTX has.  GUARDED: the kernel does not run the program while it already runs on that
 * CPU.
 */
#pragma once

#include <plumb/bpf/core/guard.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/function/trace-targets.h>
#include <plumb/bpf/syscall/syscall.bpf.h>
#include <plumb/bpf/function/target.bpf.h>
#include <plumb/bpf/user/builds.bpf.h>
#include <plumb/bpf/user/own-stack.bpf.h>

static __always_inline bool fired(void *ctx, __u64 target, bool user, bool guarded);

const volatile __u32 targets_single = 0; /* there is one target: number 0 */

/* The target of a program that is attached to many at once. */
#define targets_current(ctx) (targets_single ? 0 : bpf_get_attach_cookie(ctx))

SEC("fentry")
int fired_fentry(void *ctx)
{
	if (guard_enter()) {
		fired(ctx, function_own_target(), false, true);
		guard_leave();
	}
	return 0;
}

SEC("fentry.multi")
int fired_fentry_multi(void *ctx)
{
	fired(ctx, targets_current(ctx), false, true);
	return 0;
}

SEC("kprobe")
int fired_kprobe(void *ctx)
{
	fired(ctx, function_own_target(), false, true);
	return 0;
}

SEC("kprobe.multi")
int fired_kprobe_multi(void *ctx)
{
	fired(ctx, targets_current(ctx), false, true);
	return 0;
}

/* Before 6.1 an interrupt's tracepoint can interrupt the same program. */
SEC("raw_tp")
int fired_raw(void *ctx)
{
	fired(ctx, function_own_target(), false, false);
	return 0;
}

SEC("tracepoint")
int fired_tracepoint(void *ctx)
{
	fired(ctx, function_own_target(), false, true);
	return 0;
}

/* As in struct plumb_trace_targets; the direction is the target of the program's copy. */
const volatile __u32 targets_calls[PLUMB_DIRECTIONS][PLUMB_SYSCALLS] = {};

#define targets_own_direction() (PLUMB_TARGET_INDEX(function_own_target()) % PLUMB_DIRECTIONS)

/* The kernel fires no tracepoint of a single call for 32-bit and x32 calls. */
static __always_inline void fired_call(void *ctx, __u32 direction, __u64 nr, bool guarded)
{
	__u32 target;

	barrier_var(nr); /* as in syscall_is_in() */
	if (nr >= PLUMB_SYSCALLS)
		return;
	target = targets_calls[direction][nr];
	if (target && syscall_abi(current_task()) == PLUMB_ABI_NATIVE)
		fired(ctx, target - 1, false, guarded);
}

SEC("raw_tp")
int fired_raw_call(struct bpf_raw_tracepoint_args *ctx)
{
	struct syscall_end e = {.regs = (struct pt_regs *)ctx->args[0]};
	__u32 direction = targets_own_direction();

	fired_call(ctx, direction, direction ? syscall_end_nr(&e) : ctx->args[1], false);
	return 0;
}

/* The number is at the same place in both directions. */
SEC("tracepoint")
int fired_tp_call(struct trace_event_raw_sys_enter *ctx)
{
	fired_call(ctx, targets_own_direction(), ctx->id, true);
	return 0;
}

/* A thread can be preempted in here by another that comes here. */
static __always_inline void fired_user(void *ctx, __u64 target)
{
	keep_own_stack(ctx);
	if (fired(ctx, target, true, false))
		build_count(target);
}

SEC("uprobe")
int fired_uprobe(void *ctx)
{
	fired_user(ctx, function_own_target());
	return 0;
}

SEC("uprobe.multi")
int fired_uprobe_multi(void *ctx)
{
	fired_user(ctx, bpf_get_attach_cookie(ctx));
	return 0;
}
