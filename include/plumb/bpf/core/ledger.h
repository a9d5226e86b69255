/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ledger: one counter for each exit path by which a call can leave the trace.
 *
 *	began = recorded + filtered_at_exit + in flight + abandoned + exit_lost + exit_lost_nested
 *		+ unpaired
 *
 * recorded is the sum of all rows; in flight is the difference.  All counters count calls.  Each is
 * written by one program only, in the copy of its CPU and under the program's recursion guard, so a
 * plain increment is exact.  If several programs write one (plumb_config.interleaved), increments
 * are atomic.
 */
#ifndef PLUMB_LEDGER_H
#define PLUMB_LEDGER_H

#include <plumb/bpf/core/types.h>

struct plumb_ledger {
	/* written at the entry of a call */
	__u64 began;
	__u64 exit_lost; /* the thread was in a call already, whose exit was missed */
	__u64 no_state;  /* no memory for the thread's state: the call is lost */
	__u64 too_deep;  /* nested in too many calls of its thread: the call is lost */
	/* written at the exit of a call */
	__u64 filtered_at_exit; /* by a filter that needs the exit (--errors, --min) */
	__u64 unmatched;        /* the entry was not seen */
	__u64 exit_lost_nested; /* as exit_lost, detected at the exit of an enclosing call */
	__u64 unpaired;         /* the exit may not belong to the entry that was seen */
	/* written at entry or exit, if another program is running on the CPU (guard.bpf.h) */
	__u64 guard_missed; /* a missed execution */
	/* written at a thread's exit */
	__u64 abandoned; /* the thread exited in the call */
	/* written at a fork */
	__u64 untracked; /* the descendant table is full: the calls of the child are lost */
	/* written where a stack is taken or a record is submitted */
	__u64 stacks_lost; /* not stored; their calls are counted without a stack */
	__u64 dropped;     /* the ring buffer was full: the record is lost */
	/* written at an entry, not part of the sum: unselected 32-bit calls of selected names */
	__u64 compat_calls;
	/* written by copies of a program (plumb_mechanism.vital): they did what the first missed */
	__u64 rescued;
	__u64 pad;
};
/* Number of ledgers, a power of two.  With more CPUs, CPUs share ledgers. */
#define PLUMB_LEDGERS 512

_Static_assert(sizeof(struct plumb_ledger) == 128, "two cache lines a CPU");

#endif
