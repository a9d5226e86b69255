/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * user function, BPF side: calls of user functions, timed by any of the kernel's mechanisms.
 *
 * As function.bpf.h: the including file defines function_args(), function_wanted() and
 * function_record(). Programs that use sessions are in objects of their own (PLUMB_KFUNC_FORM).
 *
 * Threads can be preempted in a uprobe program by others that run it: plumb_config.interleaved.
 */
#ifndef PLUMB_USER_FUNCTION_BPF_H
#define PLUMB_USER_FUNCTION_BPF_H

#define PLUMB_USER_FUNCTIONS
#include <plumb/bpf/function/function-args.bpf.h>
#include <plumb/bpf/function/function-calls.bpf.h>
#include <plumb/bpf/user/own-stack.bpf.h>

/* Of an int the register's upper half is 0, also if it is negative. */
static __always_inline long user_result(const struct pt_regs *ctx)
{
	__u64 result = PT_REGS_RC(ctx);

	return result >> 32 ? (long)result : (int)result;
}

#define user_target(target)                                                                        \
	((target) | PLUMB_TARGET(0, (__u64)function_config.result_bits, PLUMB_NO_RESULT))

#ifdef PLUMB_GO
#include <plumb/bpf/user/goroutine.bpf.h>
#define user_entered(target, ctx) goroutine_entered(target, ctx)
#define user_returns(target, ctx) goroutine_returns(target, ctx, user_result(ctx))
#else

/* The place of a call, at its exit: on x86 the return address is gone from the stack by then. */
static __always_inline __u64 user_left_place(const struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	enum { USER32_CS = 0x23 }; /* arch/x86/include/asm/segment.h */

	return PT_REGS_SP(ctx) - (ctx->cs == USER32_CS ? 4 : 8);
#else
	return PT_REGS_SP(ctx);
#endif
}

static __always_inline bool user_entered(__u64 target, struct pt_regs *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = {};

	function_get_args(ctx, FUNCTION_REGISTERS, target, args);
	return function_enter(user_target(target), PT_REGS_SP(ctx), args, NULL);
}

static __always_inline void user_left(__u64 target, const struct pt_regs *ctx)
{
	function_leave(user_target(target), user_left_place(ctx), NULL, user_result(ctx));
}

/* At each return instruction, where the stack is as at the entry. */
static __always_inline void user_returns(__u64 target, const struct pt_regs *ctx)
{
	function_leave(user_target(target), PT_REGS_SP(ctx), NULL, user_result(ctx));
}

#endif

#if !PLUMB_KFUNC_FORM

/*
 * Each of these is for one function, or, as uprobe.multi, for many: links of these have cookies,
 * and those to perf events from 5.15 on.
 */
static __always_inline __u64 user_own_target(struct pt_regs *ctx)
{
	return function_config.with_cookies ? bpf_get_attach_cookie(ctx) : function_own_target();
}

SEC("uprobe")
int user_enter(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	user_entered(user_own_target(ctx), ctx);
	return 0;
}

SEC("uprobe")
int user_return(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	user_returns(user_own_target(ctx), ctx);
	return 0;
}

#ifndef PLUMB_GO /* a return address on its stack would end the program */

SEC("uretprobe")
int user_leave(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	user_left(user_own_target(ctx), ctx);
	return 0;
}

#endif

#else

#if PLUMB_KFUNC_FORM < 700 /* from 6.13 on */
extern bool bpf_session_is_return(void) __ksym;
#define session_is_return(ctx) bpf_session_is_return()
#else
extern bool bpf_session_is_return(void *ctx) __ksym;
#define session_is_return(ctx) bpf_session_is_return(ctx)
#endif

/* 1 at the entry of a call: the kernel need not call the program at its exit. */
SEC("uprobe.multi")
int user_session(struct pt_regs *ctx)
{
	__u64 target = bpf_get_attach_cookie(ctx);

	keep_own_stack(ctx);
	if (!session_is_return(ctx))
		return !user_entered(target, ctx);
	user_left(target, ctx);
	return 0;
}

#endif

#ifndef PLUMB_GO /* the loader removes goroutines of programs that are gone */
#include <plumb/bpf/user/exec.bpf.h>
#endif

#endif
