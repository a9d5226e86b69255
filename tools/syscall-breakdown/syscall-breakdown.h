/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the loader and the programs of syscall-breakdown agree on. */
#ifndef SYSCALL_BREAKDOWN_H
#define SYSCALL_BREAKDOWN_H

#include <plumb/bpf/stack/stacks.h>

/*
 * Rows: of a stack in a system call, ns blocked (sum), ns preempted or on the run queue (extra[0])
 * and samples (extra[1]).  And one of all calls of a system call, without a stack: how many, ns in
 * all, ns on the CPU (extra[0]), and samples in all of its stacks (extra[1]).
 *
 * plumb_stack_key.what is the system call's number, with its table's above, and of rows of calls:
 */
#define BREAKDOWN_CALLS     (1U << 31)
#define BREAKDOWN_ABI_SHIFT 30

/* The first pass, of --above: how long calls take, and nothing else. */
enum breakdown_pass { BREAKDOWN_ALL, BREAKDOWN_FIRST, BREAKDOWN_ABOVE };

#define BREAKDOWN_PRECISION 6
#define BREAKDOWN_BUCKETS   4096 /* plumb_hist_buckets(), made a power of two */

/*
 * Different stacks that are kept of a call until it is known whether it counts, those
 * where it was seen on the CPU, which tell each instruction apart, and those where it
 * left it.
 */
#define BREAKDOWN_ON  48
#define BREAKDOWN_OFF 16

#endif
