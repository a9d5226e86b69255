/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* kernel: features of this kernel, by its BTF.  False and 0 also if there is no BTF. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sets the file with the kernel's types, for a kernel without BTF. */
void plumb_kernel_types(const char *file);

/* The first function below that needs the kernel's types (types.h) parses them. */

/*
 * On preemptible kernels (preemption.h) programs of fentry and fsession can be preempted, programs
 * of raw tracepoints from 7.0 on, and programs of kprobes and perf events never.
 */
bool plumb_raw_tracepoints_can_be_preempted(void);

/*
 * Whether kprobe.multi and kprobe.session limit the calls in flight (up to 6.13: for each function
 * twice the number of CPUs).  The returns of calls beyond the limit are missed.
 */
bool plumb_fprobe_is_bounded(void);

/* Whether fentry programs have a recursion guard (5.12). */
bool plumb_fentry_is_guarded(void);

/* Whether the kernel counts misses of kprobes, tracepoints and their links (6.7). */
bool plumb_kprobe_misses_are_counted(void);

/* How programs can read the preemption count (waker.h), and the BTF ID of its variable. */
uint32_t plumb_kernel_preempt_count(uint32_t *btf_id);

/* The stability of mechanisms that use sched.bpf.h. */
#define PLUMB_SCHED_STABILITY "stable-ish: arguments of scheduler tracepoints"

/*
 * The prototype of the kfuncs by which a session program distinguishes entry and return:
 * 610, without argument; 700, with the context; 0, the kernel has none.
 */
int plumb_session_form(void);

/*
 * The BTF IDs of bpf_rdonly_cast() and of a struct that begins with a 64-bit number, if programs
 * can read memory with them (bpf/core/peek.bpf.h).
 */
bool plumb_kernel_casts(uint32_t *function, uint32_t *word_type);

/* Whether the kernel has uprobe.session (6.13). */
bool plumb_has_user_sessions(void);
