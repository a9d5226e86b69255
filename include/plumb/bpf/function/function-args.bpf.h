/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* function-args: the arguments and the result of a call, as each hook provides them. */
#pragma once

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

	switch (n & ~PLUMB_POINTER) {
		FUNCTION_REGISTER(0, di);
		FUNCTION_REGISTER(1, si);
		FUNCTION_REGISTER(2, dx);
		FUNCTION_REGISTER(3, cx);
		FUNCTION_REGISTER(4, r8);
		FUNCTION_REGISTER(5, r9);
#elif defined(__TARGET_ARCH_arm64)
	const struct user_pt_regs *regs = (const struct user_pt_regs *)ctx;

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

/* Integer and pointer arguments, in the order of Go's internal ABI. */
static __always_inline __u64 function_go_register(const struct pt_regs *ctx, __u32 n)
{
	__u64 v = 0;

#if defined(__TARGET_ARCH_x86)
	const struct pt_regs *regs = ctx;

	switch (n) {
		FUNCTION_REGISTER(0, ax);
		FUNCTION_REGISTER(1, bx);
		FUNCTION_REGISTER(2, cx);
		FUNCTION_REGISTER(3, di);
		FUNCTION_REGISTER(4, si);
		FUNCTION_REGISTER(5, r8);
		FUNCTION_REGISTER(6, r9);
		FUNCTION_REGISTER(7, r10);
		FUNCTION_REGISTER(8, r11);
#else
	const struct user_pt_regs *regs = (const struct user_pt_regs *)ctx;

	switch (n) {
		FUNCTION_REGISTER(0, regs[0]);
		FUNCTION_REGISTER(1, regs[1]);
		FUNCTION_REGISTER(2, regs[2]);
		FUNCTION_REGISTER(3, regs[3]);
		FUNCTION_REGISTER(4, regs[4]);
		FUNCTION_REGISTER(5, regs[5]);
		FUNCTION_REGISTER(6, regs[6]);
		FUNCTION_REGISTER(7, regs[7]);
		FUNCTION_REGISTER(8, regs[8]);
#endif
	default:
		break;
	}
	return v;
}

/* Where a program finds the arguments of a call. */
enum function_hook {
	FUNCTION_CTX,      /* of an fentry or fsession program, at the entry */
	FUNCTION_CTX_EXIT, /* the same, or of an fexit program, at the exit */
	FUNCTION_REGISTERS,
	FUNCTION_GO_REGISTERS,
};

/* Argument N, from 0; 0 if there is no such argument. */
static __always_inline __u64 function_arg(const void *ctx, enum function_hook hook, __u32 n)
{
	return hook == FUNCTION_REGISTERS      ? function_register(ctx, n)
	       : hook == FUNCTION_GO_REGISTERS ? function_go_register(ctx, n)
					       : function_ctx(ctx, n);
}

/* The address to which the function returns. N has PLUMB_CALLER. */
static __always_inline __u64 function_caller(const void *ctx, enum function_hook hook, __u32 n)
{
	__u64 v = 0;

	if (hook != FUNCTION_REGISTERS)
		return function_ctx_caller(ctx, n & ~PLUMB_CALLER);
#if defined(__TARGET_ARCH_x86)
	bpf_probe_read_kernel(&v, sizeof(v), (void *)PT_REGS_SP((const struct pt_regs *)ctx));
#else
	v = PT_REGS_RET((const struct pt_regs *)ctx);
#endif
	return v;
}

/*
 * Defined by the tool: fills what it needs of ARGS, which are 0 before. TARGET is that of the call
 * at its entry, 0 at its exit.
 */
static __always_inline void function_args(const void *ctx, enum function_hook hook, __u64 target,
					  __u64 *args);

/* The function of a calibration instance has other arguments than those that the tool expects. */
static __always_inline void function_get_args(const void *ctx, enum function_hook hook,
					      __u64 target, __u64 *args)
{
	if (!unlikely(function_config.calibration))
		function_args(ctx, hook, target, args);
}

/* The target of a program that is attached to many functions at once. */
#define function_target(ctx)                                                                       \
	(~function_config.target ? function_config.target : bpf_get_attach_cookie(ctx))

/* The context of an fentry, fexit or fsession program. */
static __always_inline void fentry_args(const __u64 *ctx, __u64 *args)
{
	if (function_config.takes_args) {
		__u64 all[PLUMB_FUNCTION_ARGS] = {};

		function_get_args(ctx, FUNCTION_CTX_EXIT, 0, all);
		args[0] = all[0];
		args[1] = all[1];
	}
	asm volatile("" : : "r"(args) : "memory"); /* not in registers, which are scarce */
}

#define fentry_result(ctx, target) function_ctx(ctx, PLUMB_TARGET_RESULT_AT(target))
