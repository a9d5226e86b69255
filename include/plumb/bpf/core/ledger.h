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
#pragma once

#include <plumb/bpf/core/types.h>

/*
 * Each counter: INNER(name), which only sums use, or SHOWN(name, lost, footer, description), which
 * is in JSON, of which DESCRIPTION is what the schema says, and in the footer if it is not zero,
 * unless its text is "".  LOST: the calls that it counts are lost.  Everything else that has to
 * know a counter is made of this table, but for the program that counts and what else a sum means.
 */
/* clang-format off */
#define PLUMB_LEDGER_COUNTERS(INNER, SHOWN)                                                        \
	/* written at the entry of a call */                                                       \
	INNER(began)                                                                               \
	INNER(exit_lost) /* the thread was in a call already, whose exit was missed */             \
	SHOWN(no_state, 1, "lost: no room for another thread's state or open pair", "Lost calls for which the thread's state could not be allocated.") \
	SHOWN(too_deep, 1, "lost: nested too deep in their thread", "Lost calls that were nested inside 16 other calls of their thread.") \
	/* written at the exit of a call */                                                        \
	SHOWN(filtered_at_exit, 0, "filtered at exit", "Calls that a filter rejected when they ended (--min, --errors).") \
	SHOWN(unmatched, 0, "", "Exits whose entry was not seen: of calls that began before the trace, or of lost calls.") \
	INNER(exit_lost_nested) /* as exit_lost, detected at the exit of an enclosing call */      \
	SHOWN(unpaired, 1, "lost: their end does not certainly belong to the beginning that was seen", "Lost calls whose exit was seen but may not belong to the entry that was seen.") \
	/* written at entry or exit, if another program is running on the CPU (guard.bpf.h) */     \
	INNER(guard_missed) /* a missed execution */                                               \
	/* written at a thread's exit */                                                           \
	INNER(abandoned) /* the thread exited in the call */                                       \
	/* written at a fork */                                                                    \
	SHOWN(untracked, 1, "lost: the descendant table is full (16384)", "Lost calls of the command's descendants, because the descendant table (16384) was full.") \
	/* written where a stack is taken or a record is submitted */                              \
	SHOWN(stacks_lost, 0, "stacks not stored, the table is full", "Stacks that were not stored, because the table was full. Their calls are recorded.") \
	SHOWN(dropped, 1, "lost: dropped, the buffer was full (raise --buffer)", "Lost calls, because the buffer was full.") \
	/* written at an entry, not part of the sum: unselected 32-bit calls of selected names */  \
	INNER(compat_calls)                                                                        \
	/* written by copies of a program (plumb_mechanism.vital): what the first missed */        \
	INNER(rescued)                                                                             \
	INNER(pad)
/* clang-format on */

#define PLUMB_COUNTER(name, ...) __u64 name;
struct plumb_ledger {
	PLUMB_LEDGER_COUNTERS(PLUMB_COUNTER, PLUMB_COUNTER)
};
#undef PLUMB_COUNTER

/* Number of ledgers, a power of two.  With more CPUs, CPUs share ledgers. */
#define PLUMB_LEDGERS 512

_Static_assert(sizeof(struct plumb_ledger) == 128, "two cache lines a CPU");
