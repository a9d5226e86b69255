/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* function-args: the arguments and the result of a call, as each hook provides them. */
#ifndef PLUMB_FUNCTION_ARGS_BPF_H
#define PLUMB_FUNCTION_ARGS_BPF_H

#include <plumb/bpf/function/frames.bpf.h>
#include <plumb/bpf/function/function.h>
#include <plumb/bpf/function/target.bpf.h>

/*
 * The place of a call at the exit probes of kprobe mechanisms, where it was PT_REGS_SP() at the
 * entry: on x86 the return address is gone from the stack by then (seen with each of them, 5.10 to
 * 7.2). 0, not known: then the innermost call of the function is taken.
 */
static __always_inline __u64 function_left_place(const struct pt_regs *ctx)
{
#if defined(__TARGET_ARCH_x86)
	return PT_REGS_SP(ctx) - 8;
#else
	(void)ctx;
	return 0;
#endif
}

/*
 * Word N of the context of an fentry, fexit or fsession program. In assembly, since the verifier
 * takes constant offsets only and clang would compute them.
 */
#define FUNCTION_CTX_WORD(n)                                                                       \
	case n:                                                                                    \
		asm("%0 = *(u64 *)(%1 + %2)" : "=r"(v) : "r"(ctx), "i"(8 * (n)));                  \
		break

/*
 * Only for tools that define FUNCTION_TAKES_CALLER: the stack of others has no room for it (5.10).
 */
#ifdef FUNCTION_TAKES_CALLER
#define function_is_caller(n) (((n)&PLUMB_CALLER) && (n) != PLUMB_NO_RESULT)
#else
#define function_is_caller(n) false
#endif

/*
 * The address to which a function with N argument words returns; 0: not known.
 *
 * x86: above the arguments a trampoline has the result and the saved frame pointer.  Then follows,
 * if the function calls the trampoline, the address in the function to which that returns, but not
 * if it jumps there (seen on 7.3).
 *
 * arm64: above the arguments are the result, if the trampoline keeps it, two saved registers, a
 * word if that is needed to align the stack, and then two pairs of a saved frame pointer and a
 * return address: into the function, and that of the function (6.0 to 7.3).
 */
static __always_inline __u64 function_ctx_caller(const __u64 *ctx, __u32 n)
{
#if defined(__TARGET_ARCH_x86)
	__u64 above[4];

	if (bpf_probe_read_kernel(above, sizeof(above), ctx + n))
		return 0;
	/* Before 5.15 the address of the function is not known, and no function jumps there. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_func_ip))
		return above[3];
	return above[2] - bpf_get_func_ip((void *)ctx) < 16 ? above[3] : above[2];
#else
	__u64 above[8], function = bpf_get_func_ip((void *)ctx);

	if (bpf_probe_read_kernel(above, sizeof(above), ctx + n))
		return 0;
	for (int i = 3; i < 6; i++)
		if (above[i] - function < 32)
			return above[i + 2];
	return 0;
#endif
}

static __always_inline __u64 function_ctx(const __u64 *ctx, __u32 n)
{
	__u64 v = 0, copy;

	if (unlikely(function_is_caller(n)))
		return function_ctx_caller(ctx, n & ~PLUMB_CALLER);
	/* A copy of a pointer is a number. */
	if (unlikely(n & PLUMB_POINTER)) {
		bpf_probe_read_kernel(&copy, sizeof(copy), ctx + (n & ~PLUMB_POINTER));
		return copy;
	}
	switch (n) {
		FUNCTION_CTX_WORD(0);
		FUNCTION_CTX_WORD(1);
		FUNCTION_CTX_WORD(2);
		FUNCTION_CTX_WORD(3);
		FUNCTION_CTX_WORD(4);
		FUNCTION_CTX_WORD(5);
		FUNCTION_CTX_WORD(6);
		FUNCTION_CTX_WORD(7);
		FUNCTION_CTX_WORD(8);
		FUNCTION_CTX_WORD(9);
		FUNCTION_CTX_WORD(10);
		FUNCTION_CTX_WORD(11);
		FUNCTION_CTX_WORD(12);
	default:
		break;
	}
	return v;
}

/* The same, of the registers at a function's entry: the arguments that are passed in registers. */
#define FUNCTION_REGISTER(n, name)                                                                 \
	case n:                                                                                    \
		asm("%0 = *(u64 *)(%1 + %2)"                                                       \
		    : "=r"(v)                                                                      \
		    : "r"(regs), "i"(__builtin_offsetof(__typeof__(*regs), name)));                \
		break

static __always_inline __u64 function_register(const struct pt_regs *ctx, __u32 n)
{
	__u64 v = 0;

#if defined(__TARGET_ARCH_x86)
	const struct pt_regs *regs = ctx;

	if (unlikely(function_is_caller(n))) {
		bpf_probe_read_kernel(&v, sizeof(v), (void *)PT_REGS_SP(ctx));
		return v;
	}
	switch (n & ~PLUMB_POINTER) {
		FUNCTION_REGISTER(0, di);
		FUNCTION_REGISTER(1, si);
		FUNCTION_REGISTER(2, dx);
		FUNCTION_REGISTER(3, cx);
		FUNCTION_REGISTER(4, r8);
		FUNCTION_REGISTER(5, r9);
#elif defined(__TARGET_ARCH_arm64)
	const struct user_pt_regs *regs = (const struct user_pt_regs *)ctx;

	if (unlikely(function_is_caller(n)))
		return PT_REGS_RET(ctx);
	switch (n & ~PLUMB_POINTER) {
		FUNCTION_REGISTER(0, regs[0]);
		FUNCTION_REGISTER(1, regs[1]);
		FUNCTION_REGISTER(2, regs[2]);
		FUNCTION_REGISTER(3, regs[3]);
		FUNCTION_REGISTER(4, regs[4]);
		FUNCTION_REGISTER(5, regs[5]);
#else
#error "no argument registers for this architecture"
#endif
	default:
		break;
	}
	return v;
}

#if !defined(FUNCTION_ARG_0) && !defined(FUNCTION_ARGS)
#error "FUNCTION_ARG_0: define it as the position of an argument, or as PLUMB_NO_RESULT, before"
#endif

/* The function of a calibration instance has other arguments than those that the tool expects. */
#define FUNCTION_ARG(get, ctx, n) (unlikely(function_config.calibration) ? 0 : get(ctx, n))
#ifdef FUNCTION_ARGS
/* The tool has its own, which may use TARGET, the call's, and does not need them at the exit. */
#define FUNCTION_EXIT_ARGS(get, ctx)                                                               \
	{                                                                                          \
	}
#elif defined(FUNCTION_ARG_1)
#define FUNCTION_ARGS(get, ctx)                                                                    \
	{                                                                                          \
		FUNCTION_ARG(get, ctx, FUNCTION_ARG_0), FUNCTION_ARG(get, ctx, FUNCTION_ARG_1)     \
	}
#else
#define FUNCTION_ARGS(get, ctx)                                                                    \
	{                                                                                          \
		FUNCTION_ARG(get, ctx, FUNCTION_ARG_0)                                             \
	}
#endif

#ifndef FUNCTION_EXIT_ARGS
#define FUNCTION_EXIT_ARGS FUNCTION_ARGS
#endif

/* The target of a program that is attached to many functions at once. */
#define function_target(ctx)                                                                       \
	(~function_config.target ? function_config.target : bpf_get_attach_cookie(ctx))

/* The context of an fentry, fexit or fsession program. */
static __always_inline void fentry_args(const __u64 *ctx, __u64 *args)
{
	if (function_config.takes_args) {
		const __u64 all[PLUMB_FUNCTION_ARGS] = FUNCTION_EXIT_ARGS(function_ctx, ctx);

		args[0] = all[0];
		args[1] = all[1];
	}
	(void)ctx;
	asm volatile("" : : "r"(args) : "memory"); /* not in registers, which are scarce */
}

#define fentry_result(ctx, target) function_ctx(ctx, PLUMB_TARGET_RESULT_AT(target))

#endif
