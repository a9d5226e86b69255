/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* syscalls: options, configuration and mechanisms of the tools that trace system calls. */
#pragma once

#include <stdbool.h>
#include <plumb/bpf/syscall/syscall.h>
#include <plumb/core/tool.h>
#include <plumb/syscalls/syscalls.h>

/* For plumb_tool_options.syscalls, and .more: -s alone, or also --errors and --fd. */
extern const struct plumb_tool_syscalls plumb_syscalls;
/* For plumb_tool.witness, of a tool that takes all calls that are selected. */
extern const struct plumb_witness plumb_syscall_witness;
extern const struct plumb_option plumb_syscall_options[], plumb_syscall_filters[];

/* What the command line selects by these options, and by the tool's own. */
extern struct syscall_config plumb_syscall_selection;

/*
 * Writes a program's configuration: SELECTION, and the numbers of the calls that fork, rename a
 * thread or restore registers.  A calibration instance has the same filters, but for the
 * calibration's call.
 */
void plumb_syscall_configure(struct syscall_config *config, const struct syscall_config *selection,
			     bool calibration);

/* --- fd-keys.c: rows by what the descriptors of calls are --- */

/* As lifecycle.prepare of a tool that has this key. */
int plumb_fds_prepare(struct plumb_options *o);
/* For the rodata of fd-key.bpf.h, before BPF is loaded; ARGUMENTS: fd_arguments. */
void plumb_fds_configure(const struct plumb_bpf *bpf, uint8_t *arguments, int32_t *connects,
			 bool calibration);
void plumb_fd_format(const void *key, char *text, size_t size);

/* Keys of rows: syscall, errno, fd; tools without the last one pass one less. */
extern const struct plumb_field plumb_syscall_fields[];
extern const size_t plumb_n_syscall_fields;

/* As plumb_tool_syscalls.rings(). */
int64_t plumb_rings_count(const struct plumb_run *run);

/* The mechanisms on the tracepoints, for programs made by SYSCALL_PROGRAMS() and opened by OPEN. */
extern const char *const plumb_syscall_tp_programs[], *const plumb_syscall_raw_programs[];
#define PLUMB_SYSCALL_MECHANISMS(open_, stability_)                                                \
	{                                                                                          \
		.name = "tracepoint",                                                              \
		.stability = (stability_),                                                         \
		.preemptible = PLUMB_AS_TRACEPOINTS,                                               \
		.open = open_,                                                                     \
		.programs = plumb_syscall_tp_programs,                                             \
	},                                                                                         \
	{                                                                                          \
		.name = "raw_tracepoint", .stability = (stability_), .open = open_,                \
		.remembers_rejected = true, .preemptible = PLUMB_AS_RAW,                           \
		.programs = plumb_syscall_raw_programs,                                            \
	}
