/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* selection: identifies a system call, and checks whether it is selected. */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/syscall/syscall.h>

const volatile struct syscall_config syscall_config = {};

/* The table that the current call's number refers to. */
static __always_inline __u32 syscall_abi(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return !!(current_read(task, thread_info.status) & 2 /* TS_COMPAT */);
#elif defined(__TARGET_ARCH_arm64)
	return !!(current_read(task, thread_info.flags) & 1UL << 22 /* TIF_32BIT */);
#else
#error "no flag of 32-bit calls for this architecture"
#endif
}

/* A call as one word: its number, and above it its table. */
static __always_inline __u64 syscall_word(__u32 nr, __u32 abi)
{
	return (__u64)abi << 32 | nr;
}

/* The first argument of a call, which 32-bit calls of x86 have in another register. */
static __always_inline __u64 syscall_first_argument(struct pt_regs *regs, __u32 abi)
{
#if defined(__TARGET_ARCH_x86)
	if (abi != PLUMB_ABI_NATIVE)
		return (__u32)BPF_CORE_READ(regs, bx);
#endif
	return PT_REGS_PARM1_CORE_SYSCALL(regs);
}

/* Whether the call is in BITMAP, which has a bit for each number of both tables. */
static __always_inline bool syscall_is_in(const volatile __u64 *bitmap, __u32 nr, __u32 abi)
{
	__u64 i = nr;

	barrier_var(
		i); /* else clang checks one copy and uses another, which the verifier refuses */
	if (i >= PLUMB_SYSCALLS)
		return false;
	return bitmap[(abi ? PLUMB_SYSCALLS / 64 : 0) + i / 64] >> i % 64 & 1;
}

/* 1 + the kind of a call, as the loader has it (syscalls/untimed.h), or 0: it has none. */
static __always_inline __u32 syscall_kind(const volatile __u8 *kinds, __u32 nr, __u32 abi)
{
	__u64 i = nr;

	barrier_var(i); /* as above */
	return i < PLUMB_SYSCALLS ? kinds[(abi ? PLUMB_SYSCALLS : 0) + i] : 0;
}

/* Not inlined: numbers that no call has are rarely listed. */
static __noinline bool syscall_is_other(__u64 call)
{
	__u32 i;

	for (i = 0; i < PLUMB_OTHER_SYSCALLS && i < syscall_config.n_others; i++)
		if (syscall_config.others[i] == call)
			return !syscall_config.others_but;
	return syscall_config.others_but && (__u32)call >= PLUMB_SYSCALLS;
}

static __always_inline bool syscall_selected(__u32 nr, __u32 abi)
{
	return !syscall_config.selected || syscall_is_in(syscall_config.bitmap, nr, abi) ||
	       ((syscall_config.n_others || syscall_config.others_but) &&
		syscall_is_other(syscall_word(nr, abi)));
}
