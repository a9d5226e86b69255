/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscalls: names of system calls, and what the tools that trace them share. */
#ifndef PLUMB_SYSCALLS_H
#define PLUMB_SYSCALLS_H

#include <plumb/fields.h>
#include <plumb/syscall.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table by number, NULL where a number has no name.  From the build's kernel headers. */
struct plumb_syscall_table {
	const char *prefix; /* "" for the native calls, "ia32:" */
	const char *const *names;
	size_t n;
};

extern const struct plumb_syscall_table plumb_syscall_tables[2]; /* by enum plumb_abi */

/* "sendto", "ia32:read", "x32:read", "syscall_999"; returns TEXT. */
const char *plumb_syscall_name(uint32_t nr, uint32_t abi, char *text, size_t size);

/* Selects the call of that name, or "syscall_NNN"; 0 or -ENOENT. */
int plumb_syscall_select(struct syscall_config *config, const char *name);

/* Leaves only calls with a file descriptor as first argument, or a size as third, selected. */
void plumb_syscall_keep_fd(struct syscall_config *config);
void plumb_syscall_keep_sized(struct syscall_config *config);
bool plumb_syscall_none(const struct syscall_config *config);

/* Fills in what every such tool needs: which calls fork, and which restore registers. */
void plumb_syscall_prepare(struct syscall_config *config);

/* The option --syscall: adds LIST's calls; "help" prints the names and exits. */
void plumb_syscall_option(struct syscall_config *config, const char *list);

/* Keys: syscall, errno. */
extern const struct plumb_field plumb_syscall_fields[];
extern const size_t plumb_n_syscall_fields;

#endif
