/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waits: which system calls wait for a word, for which one, and how that ended. */
#pragma once

#include "futex-latency.h"
#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

/* include/uapi/linux/futex.h */
#define FUTEX_CMD_MASK     0x7f
#define FUTEX_WAITERS_BIT  0x80000000U
#define OP_WAIT            0
#define OP_LOCK_PI         6
#define OP_WAIT_BITSET     9
#define OP_WAIT_REQUEUE_PI 11
#define OP_LOCK_PI2        13

/* include/linux/errno.h: what a call returns that a signal ends, before that is EINTR. */
#define ERESTARTSYS           512
#define ERESTART_RESTARTBLOCK 516

/* What a call is, and 1, as the loader has it; 0: none of enum futex_call. */
const volatile __u8 futex_calls[2 * PLUMB_SYSCALLS] = {};

struct futex_wait {
	__u64 address;
	__u32 kind;
};

/* include/uapi/linux/futex.h: struct futex_waitv */
struct futex_one {
	__u64 value, address;
	__u32 flags, reserved;
};

/*
 * A lock's word is 2 while threads wait (glibc, Rust, Go), or has the owner's number and a bit for
 * waiters (musl, robust mutexes).  glibc's read-write lock waits for 3, or 2.
 */
static __always_inline __u32 wait_kind(__u32 op, __u32 value)
{
	if (op == OP_LOCK_PI || op == OP_LOCK_PI2)
		return FUTEX_PI_LOCK;
	if (op == OP_WAIT_REQUEUE_PI)
		return FUTEX_PI_CONDITION;
	if (value == 2 || value & FUTEX_WAITERS_BIT)
		return FUTEX_LOCK;
	if (op == OP_WAIT)
		return FUTEX_OTHER;
	return value == 3 ? FUTEX_RWLOCK : FUTEX_CONDITION;
}

static __always_inline bool wait_is_one(__u32 op)
{
	return op == OP_WAIT || op == OP_WAIT_BITSET || op == OP_LOCK_PI || op == OP_LOCK_PI2 ||
	       op == OP_WAIT_REQUEUE_PI;
}

/* The first three arguments of the call that the current thread is in. */
static __always_inline void wait_arguments(struct task_struct *task, __u32 abi, __u64 arguments[3])
{
	const struct pt_regs *regs = return_registers(task);

#if defined(__TARGET_ARCH_x86)
	arguments[0] = return_register(regs, di);
	arguments[1] = return_register(regs, si);
	arguments[2] = return_register(regs, dx);
	if (unlikely(abi != PLUMB_ABI_NATIVE)) {
		arguments[0] = (__u32)return_register(regs, bx);
		arguments[1] = return_register(regs, cx);
	}
#else
	arguments[0] = return_register(regs, orig_x0);
	arguments[1] = return_register(regs, regs[1]);
	arguments[2] = return_register(regs, regs[2]);
	if (abi != PLUMB_ABI_NATIVE)
		arguments[0] = (__u32)arguments[0];
#endif
}

/* Whether call NR, which the current thread is in, may wait; it is described in W. */
static __always_inline bool wait_asked(struct futex_wait *w, struct task_struct *task, __u32 nr)
{
	__u32 abi = syscall_abi(task), call = syscall_kind(futex_calls, nr, abi), op;
	struct futex_one first = {};
	__u64 arguments[3];

	if (!call)
		return false;
	wait_arguments(task, abi, arguments);
	op = call == 1 + FUTEX_CALL ? arguments[1] & FUTEX_CMD_MASK : OP_WAIT_BITSET;
	if (!wait_is_one(op))
		return false;
	w->address = arguments[0];
	w->kind = wait_kind(op, call == 1 + FUTEX_CALL ? arguments[2] : arguments[1]);
	if (call == 1 + FUTEX_CALL_WAITV) {
		/* Of several words the first. */
		bpf_probe_read_user(&first, sizeof(first), (const void *)arguments[0]);
		w->address = first.address;
		w->kind = FUTEX_SEVERAL;
	}
	return true;
}

static __always_inline __u32 wait_result(long ret)
{
	if (ret >= 0)
		return FUTEX_WOKEN;
	if (ret == -11) /* EAGAIN */
		return FUTEX_CHANGED;
	if (ret == -110) /* ETIMEDOUT */
		return FUTEX_TIMEOUT;
	if (ret == -4 /* EINTR */ || (ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK))
		return FUTEX_SIGNAL;
	return FUTEX_FAILED;
}
