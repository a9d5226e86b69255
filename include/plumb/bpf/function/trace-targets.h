/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trace targets: tools whose programs (trace-targets.bpf.h) run wherever one of the targets that
 * the user names is reached: kernel functions, tracepoints, user functions.
 */
#pragma once

#include <plumb/bpf/syscall/syscall.h>

/* In plumb_config.by: the key has the target's number. */
#define PLUMB_BY_TARGET PLUMB_BY_TOOL

/* Of a system call: entry and exit, as the two events of raw_syscalls. */
#define PLUMB_DIRECTIONS 2
