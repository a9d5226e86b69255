/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscalls: options, configuration and mechanisms of the tools that trace system calls. */
#pragma once

#include <stdbool.h>
#include <plumb/bpf/syscall/syscall.h>
#include <plumb/core/fields.h>
#include <plumb/core/option.h>
#include <plumb/kernel/kernel.h>
#include <plumb/syscalls/syscalls.h>

struct plumb_run;

/*
 * Writes a program's configuration: SELECTION, and the numbers of the calls that fork, rename a
 * thread or restore registers.  A calibration instance has the same filters, but for the
 * calibration's call.
 */
void plumb_syscall_configure(struct syscall_config *config, const struct syscall_config *selection,
			     bool calibration);

/* Keys of rows: syscall, errno. */
extern const struct plumb_field plumb_syscall_fields[];
extern const size_t plumb_n_syscall_fields;

/* What the command line selects by these options, and by the tool's own. */
extern struct syscall_config plumb_syscall_selection;

#define PLUMB_SYSCALL_OPTION                                                                       \
	{                                                                                          \
		"syscall", 's', "NAME[,...]", "these system calls; -s help lists them", 30,        \
			.item = plumb_syscall_option_name                                          \
	}
#define PLUMB_SYSCALL_ERRORS_OPTION                                                                \
	{                                                                                          \
		"errors", 0, NULL, "calls that failed", 30, .act = plumb_syscall_option_errors     \
	}
#define PLUMB_SYSCALL_FD_OPTION                                                                    \
	{                                                                                          \
		"fd", 0, "N", "calls on this file descriptor", 30,                                 \
			.parse = plumb_syscall_option_fd                                           \
	}
void plumb_syscall_option_name(const char *option, const char *item, struct plumb_options *o);
void plumb_syscall_option_errors(void);
void plumb_syscall_option_fd(const char *option, const char *text, struct plumb_options *o);

/*
 * Called after the last option: keeps calls with a file descriptor if has_fd is set, and with a
 * size if has_size is set.  Wrong usage if none remains.
 */
void plumb_syscall_narrow(struct syscall_config *config);

/*
 * For plumb_tool_options.rings: the most rings that the processes of -p, -t and of the command have
 * had at one time, whose requests are not system calls; -1: nobody looked, as there were no such
 * processes (any more).  Looks at most once in a second.
 */
int64_t plumb_rings_count(const struct plumb_run *run);

/* The mechanisms on the tracepoints, for programs made by SYSCALL_PROGRAMS() and opened by OPEN. */
extern const char *const plumb_syscall_tp_programs[], *const plumb_syscall_raw_programs[];
const char *plumb_syscall_tp_skipped(void);
#define PLUMB_SYSCALL_MECHANISMS(open_, stability_)                                                \
	{                                                                                          \
		.name = "tracepoint",                                                              \
		.stability = (stability_),                                                         \
		.skipped = plumb_syscall_tp_skipped,                                               \
		.open = open_,                                                                     \
		.programs = plumb_syscall_tp_programs,                                             \
	},                                                                                         \
	{                                                                                          \
		.name = "raw_tracepoint", .stability = (stability_), .open = open_,                \
		.remembers_rejected = true, .preemptible = plumb_raw_tracepoints_can_be_preempted, \
		.programs = plumb_syscall_raw_programs,                                            \
	}
