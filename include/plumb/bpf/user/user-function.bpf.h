/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * user function, BPF side: calls of user functions, timed by any of the kernel's mechanisms.
 *
 * As function.bpf.h: the including file defines function_args() and function_record(). Programs
 * that use sessions are in objects of their own (PLUMB_KFUNC_FORM).
 *
 * Threads can be preempted in a uprobe program by others that run it: plumb_config.interleaved.
 */
#pragma once

#define PLUMB_USER_FUNCTIONS
#include <plumb/bpf/function/function-args.bpf.h>
#include <plumb/bpf/function/function-calls.bpf.h>
#include <plumb/bpf/sched/irq-time.bpf.h>
#include <plumb/bpf/user/own-stack.bpf.h>
#ifdef PLUMB_GO
#include <plumb/bpf/user/by-id.bpf.h>
#endif

/* Of an int the register's upper half is 0, also if it is negative. */
static __always_inline long user_result(const struct pt_regs *ctx)
{
	__u64 result = PT_REGS_RC(ctx);

	return result >> 32 ? (long)result : (int)result;
}

#define user_target(target)                                                                        \
	((target) | PLUMB_TARGET(0, (__u64)function_config.result_bits, PLUMB_NO_RESULT))

#ifdef PLUMB_GO

/*
 * The calls of Go functions.  Their state is that of a goroutine, since it may go on in
 * another thread inside a call.
 *
 * Go's internal ABI (cmd/compile/abi-internal.md in its sources) has the current goroutine in R14
 * on x86-64, and in R28 on arm64, at the entry and the return of each function that the compiler
 * made.  The goroutine's struct begins with the bounds of its stack.  A stack that grows is copied
 * to the upper end of a larger one: so the place of a call is its distance from that end.
 */

#if defined(__TARGET_ARCH_x86)
#define GO_GOROUTINE(ctx) ((ctx)->r14)
#else
#define GO_GOROUTINE(ctx) (((const struct user_pt_regs *)(ctx))->regs[28])
#endif

/* Finds the current goroutine, and the place of the call.  False: its struct cannot be read. */
static __always_inline bool goroutine_current(const struct pt_regs *ctx, struct task_struct *task,
					      struct plumb_id *which, __u64 *place)
{
	__u64 upper_end = 0, address = GO_GOROUTINE(ctx);

	if (function_config.calibration) /* calls of a C function: any readable address does */
		address = PT_REGS_SP(ctx);
	*which = by_id_of(task, address);
	if (bpf_probe_read_user(&upper_end, sizeof(upper_end),
				(void *)(address + sizeof(upper_end))))
		return false;
	*place = PT_REGS_SP(ctx) - upper_end;
	return true;
}

static __always_inline void user_entered(__u64 target, const struct pt_regs *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = {}, place;
	struct task_struct *task = current_task();
	struct plumb_thread_kept *kept = NULL;
	struct plumb_id which;

	function_get_args(ctx, FUNCTION_GO_REGISTERS, target, args);
	if (!filter_thread(task) || !function_begins(task, target, args))
		return;
	if (goroutine_current(ctx, task, &which, &place))
		kept = by_id_make(&which, task);
	function_push_in(kept ? &kept->thread : NULL, target, place, args, NULL);
}

/* The thread may be another than at the entry, where the filters were applied. */
static __always_inline void user_returns(__u64 target, const struct pt_regs *ctx)
{
	struct function_call c = {.target = target, .ret = user_result(ctx)};
	struct task_struct *task = current_task();
	struct plumb_thread_kept *kept = NULL;
	__u64 now = bpf_ktime_get_ns(), place;
	struct plumb_id which;

	if (goroutine_current(ctx, task, &which, &place))
		kept = by_id_get(&which);
	if (!kept || !function_pop_from(&kept->thread, task, &c, place, now, NULL)) {
		if (filter_thread(task))
			function_unmatched(task, target, NULL);
		return;
	}
	by_id_drop(&which, kept);
}

/*
 * At runtime.goexit1, where each goroutine ends.  Calls that it is inside were left by a panic that
 * a function around them recovered, or by runtime.Goexit().
 */
static __always_inline void goroutine_over(const struct pt_regs *ctx)
{
	struct task_struct *task = current_task();
	struct plumb_id which;
	struct plumb_thread_kept *kept;
	__u64 place;

	if (!goroutine_current(ctx, task, &which, &place))
		return;
	kept = by_id_get(&which);
	if (!kept)
		return;
	if (kept->thread.depth)
		ledger_add(bpf_get_smp_processor_id(), abandoned, kept->thread.depth);
	bpf_map_delete_elem(&plumb_states_by_id, &which);
}

SEC("uprobe")
int goroutine_end(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	goroutine_over(ctx);
	return 0;
}

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

/* Loaded with --split only.  They add to the calls that they interrupt. */
static __always_inline void irq_time_ended(struct irq_time *i __attribute__((unused)), __u64 ns)
{
	struct function_thread *t = inflight_get(current_task());

	if (!t || !t->depth)
		return;
	t->off[PLUMB_IRQ] += ns;
	t->returns++;
}
