/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscall: what loaders and programs of tools that trace system calls share. */
#pragma once

#include <plumb/bpf/key/key.h>

/* The bits that these tools add to --by. */
#define PLUMB_BY_SYSCALL (PLUMB_BY_TOOL << 0)
#define PLUMB_BY_ERRNO   (PLUMB_BY_TOOL << 1)
#define PLUMB_BY_FD      (PLUMB_BY_TOOL << 2) /* of those with rows by call: fd-key.bpf.h */

/* The table that a number refers to. x32 calls are native ones with bit 30 set. */
enum plumb_abi {
	PLUMB_ABI_NATIVE,
	PLUMB_ABI_COMPAT, /* 32-bit: ia32 on x86_64, arm on arm64 */
};

struct syscall_key {
	struct plumb_who who;
	__u32 nr;
	__u32 abi;
	__u32 error; /* positive errno, 0 for success */
	__u32 pad;
	__u64 fd; /* a number made of what the descriptor is, or one of PLUMB_FD_... */
};
_Static_assert(sizeof(struct syscall_key) == 80, "no hidden padding in a hash key");

/* They differ in many bits, as the numbers of files do (syscall_var()). */
#define PLUMB_FD_NONE   0                     /* the call has no descriptor, or a negative number */
#define PLUMB_FD_CWD    0x6f1d5a3c97e2b841ULL /* AT_FDCWD */
#define PLUMB_FD_CLOSED 0xb38c02f94d7165eaULL /* the number is not one of an open file */

/* The selected calls, a bit each: numbers below PLUMB_SYSCALLS of each table. */
#define PLUMB_SYSCALLS       512
#define PLUMB_OTHER_SYSCALLS 16

struct syscall_config {
	__u32 selected; /* 1: only the calls in the bitmap */
	__u32 has_fd, has_size;
	__u32 fd;                 /* first argument */
	__u64 min_size, max_size; /* third argument, both included */
	__u64 bitmap[2 * PLUMB_SYSCALLS / 64];
	/*
	 * Numbers from PLUMB_SYSCALLS on, and of x32: number, and table above it.  others_but: all
	 * but these are selected.
	 */
	__u32 n_others, others_but;
	__u64 others[PLUMB_OTHER_SYSCALLS];
	/* 32-bit calls that are not selected, with the names of selected native ones. */
	__u32 n_compat, pad_compat;
	__u64 compat[PLUMB_SYSCALLS / 64];
	__u32 only_errors;
	__u32 pad;
	__u64 min_ns;
	/* Numbers, in the two tables, of calls with unusual exits; PLUMB_NO_SYSCALL: none. */
	__s32 forks[2][4];      /* clone, clone3, fork, vfork: they also end in the child */
	__s32 sigreturns[2][2]; /* rt_sigreturn, sigreturn: they restore the result register */
	__s32 renames[2][3];    /* execve, execveat, prctl: the name can differ at their exit */
};

#define PLUMB_NO_SYSCALL (-2147483647 - 1)
