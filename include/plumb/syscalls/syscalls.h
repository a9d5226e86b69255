/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscalls: names and numbers of system calls, and sets of them. */
#pragma once

#include <asm/unistd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/syscall/syscall.h>

#if defined(__x86_64__)
#define PLUMB_COMPAT_PREFIX "ia32:"
#else
#define PLUMB_COMPAT_PREFIX "arm:"
#endif

/* x32 calls have this bit, and native numbers or their own from 512 on. */
#define PLUMB_X32_BIT 0x40000000U

/* A table by number, NULL where a number has no name.  From the build's kernel headers. */
struct plumb_syscall_table {
	const char *prefix; /* "" for the native calls, "ia32:" */
	const char *const *names;
	size_t n;
};

extern const struct plumb_syscall_table plumb_syscall_tables[2]; /* by enum plumb_abi */

/* "sendto", "ia32:read", "x32:read", "syscall_999"; returns TEXT. */
const char *plumb_syscall_name(uint32_t nr, uint32_t abi, char *text, size_t size);

/* The name without a prefix; NULL: unknown. */
const char *plumb_syscall_known(uint32_t nr, uint32_t abi);

/* The number of a name without a prefix; -1: there is no such call. */
int plumb_syscall_number(const char *name, uint32_t abi);

/*
 * For a NAME that is no native call, the one that is called instead of it here, and the call of
 * that name in 32-bit programs: "openat, or arm:open of 32-bit programs"; "": neither.  Returns
 * TEXT.
 */
const char *plumb_syscall_instead(const char *name, char *text, size_t size);

/* The name of the kernel function of a native call, "__x64_sys_sendto". */
void plumb_syscall_function(uint32_t nr, char *text, size_t size);

/*
 * The system call that the calibration makes.  It is short and has no effect.  Unlike
 * getppid(), its function has an argument: functions of system calls without one are
 * aliases in the kernel, and have no BTF.
 */
#define PLUMB_CALIBRATION_NR __NR_sched_get_priority_max

/* --- selection.c: a set of system calls --- */

/* Selects the call NAME, as printed in rows, also "syscall_999"; 0, -ENOENT or -E2BIG. */
int plumb_syscall_select(struct syscall_config *config, const char *name);
/* Selects all calls but NAME and those that it was called with before; not with the one above. */
int plumb_syscall_except(struct syscall_config *config, const char *name);

/* Deselect calls without a file descriptor as first argument, or without a size as third. */
void plumb_syscall_narrow_fd(struct syscall_config *config);
void plumb_syscall_narrow_sized(struct syscall_config *config);
bool plumb_syscall_is_selected(const struct syscall_config *config, uint32_t nr, uint32_t abi);
bool plumb_syscall_none(const struct syscall_config *config);

/* Returns the count of selected numbers if all are native calls and at most MAX, else -1. */
int plumb_syscall_selected(const struct syscall_config *config, uint32_t *nrs, int max);
