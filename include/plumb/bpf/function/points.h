/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * points: tools whose programs (points.bpf.h) run wherever one of the targets is
 * reached that the user names: kernel functions, tracepoints, user functions.
 */
#ifndef PLUMB_BPF_POINTS_H
#define PLUMB_BPF_POINTS_H

#include <plumb/bpf/syscall/syscall.h>

/* In plumb_config.by: rows are told apart by their target's number. */
#define PLUMB_BY_TARGET PLUMB_BY_TOOL

/* Of a system call: into the kernel and out of it, as raw_syscalls has them. */
#define PLUMB_WAYS 2

#endif
