/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verdict: the numbers of recorded and lost calls, from a ledger. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <plumb/core/snapshot.h>

/*
 * Calls made = recorded + lost + filtered at exit + in flight + abandoned.  The lower bound
 * of lost calls is the number that the programs observed.  The upper bound adds, at most as many as
 * the kernel's count of missed executions allows: ends without a beginning, which may belong to
 * calls from before the trace; calls that seem to be in flight or abandoned; and calls of which
 * both ends were missed.  That count includes executions for other processes.
 */
struct plumb_verdict {
	uint64_t recorded, in_flight, abandoned, saturated;
	uint64_t entry_lost, exit_lost, both_lost; /* executions were missed */
	uint64_t exit_lost_observed; /* of exit_lost: the next call of the thread was seen */
	uint64_t lost, at_least;     /* for all reasons: the upper, lower bound */
	uint64_t pooled;             /* recorded under [other]: more keys than --max-keys */
};

struct plumb_verdict plumb_ledger_judge(const struct plumb_snapshot *total);

/* Whether it is the row of whole calls, not of a stage; [other] adds up all stages. */
bool plumb_row_is_whole(const struct plumb_snapshot *total, const struct plumb_row *row);

/* Whether every call that began has ended, and every end has a beginning, so that all are in rows.
 */
bool plumb_ledger_is_whole(const struct plumb_snapshot *total);

/* Whether more calls were lost than --strict allows; PERCENT in units of 1/PLUMB_PERCENT %. */
bool plumb_ledger_is_broken(const struct plumb_verdict *v, uint64_t percent);
