/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ledger: one counter for each exit path by which a call can leave the trace.
 *
 *	began = recorded + filtered_at_exit + in flight + abandoned + exit_lost + exit_lost_nested
 *		+ unpaired
 *
 * What is recorded is the sum of all rows; in flight is what the sum leaves.
 * All counters are in calls.  Each is written by one program only, on its own
 * CPU's copy, under that program's recursion guard: a plain increment is exact.
 * Where several programs write one (plumb_config.interleaved) it is atomic.
 */
#ifndef PLUMB_LEDGER_H
#define PLUMB_LEDGER_H

#include <plumb/bpf/core/types.h>

struct plumb_ledger {
	/* written at the entry of a call */
	__u64 began;
	__u64 exit_lost; /* the thread was inside a call already: that one's end was missed */
	__u64 no_state;  /* no memory for the thread's state: the call is lost */
	__u64 too_deep;  /* inside too many others of its thread's: the call is lost */
	/* written at its end */
	__u64 filtered_at_exit; /* by a filter that only the end can judge (--errors, --min) */
	__u64 unmatched;        /* ended, but its entry was not seen */
	__u64 exit_lost_nested; /* as exit_lost, found at the end of a call around it */
	__u64 unpaired;         /* it may not be the end of the call that began there last */
	/* written at either end, by a program that finds another at work on the CPU (guard.bpf.h)
	 */
	__u64 guard_missed; /* a missed execution */
	/* written at a thread's exit */
	__u64 abandoned; /* inside a call that therefore never ended */
	/* written at a fork */
	__u64 untracked; /* the descendant table is full: the calls of this one are lost */
	/* written by who takes a stack, or hands a record over */
	__u64 stacks_lost; /* that could not be kept: what they are of is counted without */
	__u64 dropped;     /* the ring buffer was full: the record is lost */
	/* written at an entry, beside all the others: 32-bit calls of the names selected */
	__u64 compat_calls;
	__u64 pad[2];
};
/* CPUs with a ledger of their own, a power of two; where there are more, they share them. */
#define PLUMB_LEDGERS 512

_Static_assert(sizeof(struct plumb_ledger) == 128, "two cache lines a CPU");

#endif
