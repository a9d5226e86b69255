/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of syscall-breakdown. */
#pragma once

#include <plumb/bpf/stack/stacks.h>

/*
 * A row of a stack in a system call has ns blocked (sum), ns preempted or on the run queue
 * (counters[0]) and samples (counters[1]).  A row without a stack is of all calls of a system call:
 * their count, total ns (sum), ns on the CPU (counters[0]), and the samples of all stacks
 * (counters[1]).
 *
 * A row of a user stack is of the calls that were made there, if they were sampled or left the CPU:
 * ns off the CPU (sum), their number (counters[0]) and samples (counters[1]).
 *
 * plumb_stack_key.what is the system call's number, its table at bit BREAKDOWN_ABI_SHIFT, and in
 * rows of all calls BREAKDOWN_CALLS, in those of user stacks BREAKDOWN_CALLERS.
 */
#define BREAKDOWN_CALLS     (1U << 31)
#define BREAKDOWN_ABI_SHIFT 30
#define BREAKDOWN_CALLERS   (1U << 29)

/* The passes of --above: BREAKDOWN_FIRST only measures how long calls take. */
enum breakdown_pass { BREAKDOWN_ALL, BREAKDOWN_FIRST, BREAKDOWN_ABOVE };

#define BREAKDOWN_PRECISION 6
#define BREAKDOWN_BUCKETS   4096 /* plumb_hist_buckets(), made a power of two */

/*
 * Maximum numbers of different stacks that are kept of a call until its end shows whether it is
 * reported: stacks of samples on the CPU, which differ by instruction, and stacks where it left it.
 */
#define BREAKDOWN_ON  48
#define BREAKDOWN_OFF 16
