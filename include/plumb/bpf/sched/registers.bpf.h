/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * registers: those that the current thread had in user mode, which the kernel stores at the top of
 * its stack when the thread enters it.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

static __always_inline struct pt_regs *return_registers(struct task_struct *task)
{
	__u64 stack;

	/* Since 5.15.  Before, stacks have 16 kB and nothing above the registers. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	stack = (__u64)current_read(task, stack);
	return (struct pt_regs *)(stack + 16384 - bpf_core_type_size(struct pt_regs));
}

/* A register of return_registers(), which the verifier knows since 5.15. */
#define return_register(regs, name)                                                                \
	(bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)                       \
		 ? (regs)->name                                                                    \
		 : BPF_CORE_READ(regs, name))

/* The current thread's system call, in it or on the way out; negative: it is in none. */
static __always_inline long return_number(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return return_register(regs, orig_ax);
#else
	return return_register(regs, syscallno);
#endif
}

/* Whether the system call has no result yet: a stop by ptrace or seccomp precedes it, too. */
static __always_inline bool return_has_none(const struct pt_regs *regs, long *result)
{
#if defined(__TARGET_ARCH_x86)
	*result = return_register(regs, ax);
	return (__s32)*result == -38; /* ENOSYS, at the entry */
#else
	*result = return_register(regs, regs[0]);
	/* At the entry that is still the first argument. */
	return *result == (long)return_register(regs, orig_x0);
#endif
}

/*
 * Whether the registers are no longer those of the system call whose number they have: its thread
 * is about to run a signal handler, and they are its arguments. They point into the frame on its
 * stack (arch/x86/include/asm/sigframe.h), which rt_sigreturn takes away again: of 64 bits, an
 * address, the context and the siginfo; of 32 bits, an address, the signal, two pointers, the
 * siginfo and the context, or with a handler of one argument, an address and the signal. arm64
 * forgets the number.
 */
static __always_inline bool return_to_handler(const struct pt_regs *regs, long result)
{
#if defined(__TARGET_ARCH_x86)
	const __u64 frame = return_register(regs, sp), third = return_register(regs, dx);
	__s32 number = 0;

	if (third == frame + 8)
		return return_register(regs, si) == frame + 8 + 304;
	if (third == frame + 16)
		return return_register(regs, cx) == frame + 16 + 128;
	return !third && !return_register(regs, cx) && (__u32)result - 1 < 64 &&
	       !bpf_probe_read_user(&number, sizeof(number), (void *)(frame + 4)) &&
	       number == (__s32)result;
#else
	(void)regs, (void)result;
	return false;
#endif
}

/* The first argument of the system call that the current thread is in, and the second. */
static __always_inline __u64 return_argument(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return return_register(regs, di);
#else
	return return_register(regs, orig_x0);
#endif
}

static __always_inline __u64 return_second_argument(const struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return return_register(regs, si);
#else
	return return_register(regs, regs[1]);
#endif
}

/* The number and 1 of the system call that the current thread is in; 0: it is in none. */
static __always_inline __u32 registers_call(struct task_struct *task)
{
	const struct pt_regs *regs;
	long nr, result;

	if (current_read(task, flags) & PF_KTHREAD)
		return 0;
	regs = return_registers(task);
	nr = return_number(regs);
	return nr >= 0 && return_has_none(regs, &result) ? (__u32)nr + 1 : 0;
}
