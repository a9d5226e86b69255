/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * function, BPF side: calls of kernel functions, timed by any of the kernel's mechanisms.
 *
 * A tool includes this, and defines
 *
 *	void function_args(const void *ctx, enum function_hook, __u64 target, __u64 *args)
 *	void function_record(struct task_struct *, const struct function_call *)
 *
 * The first gets the arguments that it needs, by function_arg(). Functions that have different
 * arguments are told by their target, if calls are in frames (function_config.nested). A tool that
 * does not trace all calls defines before this FUNCTION_SELECTS(target), whether any call of the
 * target is traced, and
 *
 *	bool function_wanted(struct task_struct *, __u64 target, __u64 *args)
 *
 * whether one is, which may replace the arguments by what is to be kept of the call.
 *
 * The programs are thin: each translates the entry and exit of a call from its hook
 * (function-args.bpf.h); the handling is the same for all (function-calls.bpf.h). Programs that use
 * sessions are in an object of their own, because libbpf refuses an object that declares a kfunc
 * which the kernel does not have in that form: NAME-session-610 and NAME-session-700 are made of
 * NAME.bpf.c, with PLUMB_KFUNC_FORM set to the first kernel of that form (Makefile).
 */
#pragma once

#include <plumb/bpf/function/function-args.bpf.h>
#include <plumb/bpf/function/function-calls.bpf.h>
#include <plumb/bpf/core/guard.bpf.h>

#if !PLUMB_KFUNC_FORM

static __always_inline void function_enter_fentry(__u64 target, __u64 *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = {};
	struct task_struct *task = current_task();

	function_get_args(ctx, FUNCTION_CTX, target, args);
	if (!filter_thread(task))
		return;
	if (!function_begins(task, target, args)) {
		if (function_config.inflight_slots)
			function_reject_in_inflight_slot(ctx);
	} else if (!function_config.inflight_slots || !function_take_inflight_slot(ctx, task)) {
		function_push(task, target, function_place(ctx), args, NULL);
	}
}

static __always_inline void function_leave_fentry(__u64 target, __u64 *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = {};
	long ret = function_ctx(ctx, PLUMB_TARGET_RESULT_AT(target));

	function_get_args(ctx, FUNCTION_CTX_EXIT, 0, args);
	if (function_config.inflight_slots)
		function_leave_inflight_slot(target, ctx, args, ret);
	else
		function_leave(target, function_place(ctx), args, ret);
}

SEC("fentry")
int fentry_enter(__u64 *ctx)
{
	volatile __u32 *inside = pairing_at(function_own_target(), bpf_get_smp_processor_id());

	if (guard_enter()) {
		*inside = 1;
		function_enter_fentry(function_own_target(), ctx);
		*inside = 0;
		guard_leave();
	}
	return 0;
}

SEC("fexit")
int fentry_leave(__u64 *ctx)
{
	if (guard_enter()) {
		function_leave_fentry(function_own_target(), ctx);
		guard_leave();
	}
	return 0;
}

SEC("kprobe")
int kprobe_enter(struct pt_regs *ctx)
{
	__u64 target = function_own_target();
	__u64 args[PLUMB_FUNCTION_ARGS] = {};

	function_get_args(ctx, FUNCTION_REGISTERS, target, args);
	function_enter(target, PT_REGS_SP(ctx), args, NULL);
	return 0;
}

SEC("kretprobe")
int kprobe_leave(struct pt_regs *ctx)
{
	function_leave(function_own_target(), function_left_place(ctx), NULL, PT_REGS_RC(ctx));
	return 0;
}

SEC("kprobe.multi")
int multi_enter(struct pt_regs *ctx)
{
	__u64 target = function_target(ctx);
	__u64 args[PLUMB_FUNCTION_ARGS] = {};

	function_get_args(ctx, FUNCTION_REGISTERS, target, args);
	function_enter(target, PT_REGS_SP(ctx), args, NULL);
	return 0;
}

SEC("kretprobe.multi")
int multi_leave(struct pt_regs *ctx)
{
	function_leave(function_target(ctx), function_left_place(ctx), NULL, PT_REGS_RC(ctx));
	return 0;
}

#else

#if PLUMB_KFUNC_FORM < 700 /* from 6.10 on */
extern bool bpf_session_is_return(void) __ksym;
extern __u64 *bpf_session_cookie(void) __ksym;
#define session_is_return(ctx) bpf_session_is_return()
#define session_cookie(ctx)    bpf_session_cookie()
#else
extern bool bpf_session_is_return(void *ctx) __ksym;
extern __u64 *bpf_session_cookie(void *ctx) __ksym;
#define session_is_return(ctx) bpf_session_is_return(ctx)
#define session_cookie(ctx)    bpf_session_cookie(ctx)

/* With frames too. A separate function, so that the others do not need its registers. */
static __noinline int fsession_framed(__u64 *ctx)
{
	__u64 target = function_own_target();

	if (session_is_return(ctx)) {
		__u64 args[PLUMB_FUNCTION_ARGS] = {};

		function_get_args(ctx, FUNCTION_CTX_EXIT, 0, args);
		function_leave_framed(target, function_place(ctx), args, fentry_result(ctx, target),
				      session_cookie(ctx));
	} else {
		__u64 args[PLUMB_FUNCTION_ARGS] = {};

		function_get_args(ctx, FUNCTION_CTX, target, args);
		function_enter(target, function_place(ctx), args, session_cookie(ctx));
	}
	return 0;
}

/* Values that are not needed before the clock is read are computed after it. */
SEC("fentry")
int fsession(__u64 *ctx)
{
	__u64 *cookie, ns, args[PLUMB_FUNCTION_ARGS];

	if (unlikely(function_config.frames))
		return fsession_framed(ctx);
	cookie = session_cookie(ctx);
	if (!session_is_return(ctx)) {
		fentry_args(ctx, args);
		function_enter_session(cookie, args);
	} else if (function_took(cookie, &ns)) {
		fentry_args(ctx, args);
		function_leave_session(FUNCTION_OWN, ns, args,
				       fentry_result(ctx, function_own_target()));
	} else if (!*cookie) {
		fentry_args(ctx, args);
		function_missed(FUNCTION_OWN, args);
	}
	return 0;
}

SEC("fsession.multi")
int fsession_multi(__u64 *ctx)
{
	__u64 target = function_target(ctx), ret = 0, *cookie, ns;
	__u64 args[PLUMB_FUNCTION_ARGS] = {};

	function_get_args(ctx, FUNCTION_CTX, target, args);
	if (unlikely(function_config.frames)) {
		if (session_is_return(ctx)) {
			bpf_get_func_ret(ctx, &ret);
			function_leave_framed(target, function_place(ctx), args, ret,
					      session_cookie(ctx));
		} else {
			function_enter(target, function_place(ctx), args, session_cookie(ctx));
		}
		return 0;
	}
	cookie = session_cookie(ctx);
	if (!session_is_return(ctx)) {
		function_enter_session(cookie, args);
	} else if (function_took(cookie, &ns)) {
		bpf_get_func_ret(ctx, &ret);
		function_leave_session(target, ns, args, ret);
	} else if (!*cookie) {
		function_missed(FUNCTION_OWN, args);
	}
	return 0;
}
#endif

/* 1 at the entry of a call: the kernel need not call the program at its exit. */
SEC("kprobe.multi")
int kprobe_session(struct pt_regs *ctx)
{
	const __u64 none[PLUMB_FUNCTION_ARGS] = {};
	__u64 target = function_target(ctx), *cookie, ns;

	if (session_is_return(ctx)) {
		cookie = session_cookie(ctx);
		if (unlikely(function_config.frames))
			function_leave_framed(target, function_left_place(ctx), NULL,
					      PT_REGS_RC(ctx), cookie);
		else if (function_took(cookie, &ns))
			function_leave_session(target, ns, none, PT_REGS_RC(ctx));
		else if (!*cookie)
			function_missed(target, NULL);
		*cookie = 0; /* fprobe passes it to the next call unchanged */
	} else {
		__u64 args[PLUMB_FUNCTION_ARGS] = {};

		function_get_args(ctx, FUNCTION_REGISTERS, target, args);
		if (unlikely(function_config.frames))
			return !function_enter(target, PT_REGS_SP(ctx), args, session_cookie(ctx));
		return !function_enter_session(session_cookie(ctx), args);
	}
	return 0;
}

#endif
