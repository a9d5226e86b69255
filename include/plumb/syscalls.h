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

/* Selects the call of a name that rows print, also "syscall_999"; 0, -ENOENT or -E2BIG. */
int plumb_syscall_select(struct syscall_config *config, const char *name);

/* Leaves only calls with a file descriptor as first argument, or a size as third, selected. */
void plumb_syscall_keep_fd(struct syscall_config *config);
void plumb_syscall_keep_sized(struct syscall_config *config);
bool plumb_syscall_is_selected(const struct syscall_config *config, uint32_t nr);
bool plumb_syscall_none(const struct syscall_config *config);

/* The selected numbers, if they are native calls and at most MAX; how many, or -1. */
int plumb_syscall_selected(const struct syscall_config *config, uint32_t *nrs, int max);

/* The kernel's function of a native call, "__x64_sys_sendto". */
void plumb_syscall_function(uint32_t nr, char *text, size_t size);

/*
 * Writes a program's configuration: SELECTION, in a twin with the same filters for the
 * calibration's call, and which calls fork and which restore registers.
 */
void plumb_syscall_configure(struct syscall_config *config, const struct syscall_config *selection,
			     bool twin);

/* The option --syscall: adds LIST's calls; "help" prints the names and exits. */
void plumb_syscall_option(struct syscall_config *config, const char *list);

/* With all options read: keeps what has_fd and has_size ask for; wrong usage if that is none. */
void plumb_syscall_keep(struct syscall_config *config);

/* The rungs on the tracepoints, for programs made by SYSCALL_PROGRAMS() and opened by OPEN. */
extern const char *const plumb_syscall_tp_programs[], *const plumb_syscall_raw_programs[];
const char *plumb_syscall_tp_outdone(void);
#define PLUMB_SYSCALL_RUNGS(open_, stability_)                                                     \
	{                                                                                          \
		.name = "tracepoint",                                                              \
		.stability = (stability_),                                                         \
		.outdone = plumb_syscall_tp_outdone,                                               \
		.open = open_,                                                                     \
		.programs = plumb_syscall_tp_programs,                                             \
	},                                                                                         \
	{                                                                                          \
		.name = "raw_tracepoint", .stability = (stability_), .open = open_,                \
		.programs = plumb_syscall_raw_programs,                                            \
	}

/* Keys: syscall, errno. */
extern const struct plumb_field plumb_syscall_fields[];
extern const size_t plumb_n_syscall_fields;

#endif
