/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* calls: the operation and the file of a system call, by its registers. */
#pragma once

#include "describe.bpf.h"
#include <plumb/bpf/syscall/selection.bpf.h>
#include <plumb/bpf/syscall/untimed.bpf.h>

#define MAP_ANONYMOUS 0x20

/* The operation of a call, or enum file_untimed; FILE_CALLS: not traced. */
static __always_inline __u32 call_op(__u32 nr, __u32 abi)
{
	__u32 i = syscall_kind(file_config.calls, nr, abi);

	return i ? i - 1 : FILE_CALLS;
}

/* Argument N, from 0 to 4, of the call that the thread is inside. */
static __always_inline __u64 call_argument(struct pt_regs *regs, __u32 abi, __u32 n)
{
#if defined(__TARGET_ARCH_x86)
	bool native = abi == PLUMB_ABI_NATIVE;

	switch (n) {
	case 0:
		return native ? peek(struct pt_regs, regs, di)
			      : (__u32)peek(struct pt_regs, regs, bx);
	case 1:
		return native ? peek(struct pt_regs, regs, si)
			      : (__u32)peek(struct pt_regs, regs, cx);
	case 2:
		return (__u32)peek(struct pt_regs, regs, dx); /* a descriptor */
	case 3:
		return (__u32)(native ? peek(struct pt_regs, regs, r10)
				      : peek(struct pt_regs, regs, si)); /* flags */
	default:
		return (__u32)(native ? peek(struct pt_regs, regs, r8)
				      : peek(struct pt_regs, regs, di)); /* a descriptor */
	}
#else
	__u64 value = n ? peek(struct pt_regs, regs, regs[n]) : peek(struct pt_regs, regs, orig_x0);

	return abi == PLUMB_ABI_NATIVE ? value : (__u32)value;
#endif
}

/* The file that a call is about; NULL: the descriptor has none. */
static __always_inline struct file *call_file(struct task_struct *task, __u32 op,
					      struct pt_regs *regs, __u32 abi)
{
	struct file *file, *other;

	switch (op) {
	case FILE_MMAP:
		return peek_file_of(task, call_argument(regs, abi, 4));
	case FILE_SENDFILE: /* (out, in, ...) */
		file = peek_file_of(task, call_argument(regs, abi, 1));
		other = peek_file_of(task, call_argument(regs, abi, 0));
		break;
	case FILE_SPLICE: /* (in, offset, out, ...) */
	case FILE_COPY_RANGE:
		file = peek_file_of(task, call_argument(regs, abi, 0));
		other = peek_file_of(task, call_argument(regs, abi, 2));
		break;
	default:
		return peek_file_of(task, call_argument(regs, abi, 0));
	}
	return file && other && !file_is_one(file) && file_is_one(other) ? other : file;
}

/* Whether the call is to be traced; FILE, unless it opens one, is NULL if the descriptor is bad. */
static __always_inline bool call_wanted(struct task_struct *task, __u32 op, struct pt_regs *regs,
					__u32 abi, struct file **file)
{
	*file = NULL;
	if (op == FILE_OPEN)
		return true;
	if (op == FILE_MMAP && call_argument(regs, abi, 3) & MAP_ANONYMOUS)
		return false;
	*file = call_file(task, op, regs, abi);
	return !*file || file_is_one(*file);
}
