/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* verdict: what a ledger amounts to, in calls. */
#ifndef PLUMB_VERDICT_H
#define PLUMB_VERDICT_H

#include <plumb/measure/snapshot.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Calls made = recorded + lost, and what else the ledger has: filtered at exit, in flight,
 * abandoned. A call of which one end was seen is known to be lost.  Those of which nothing was seen
 * are only in the kernel's count of missed executions, which has other processes' calls as well:
 * there are at most so many.
 */
struct plumb_verdict {
	uint64_t recorded, in_flight, abandoned, saturated;
	uint64_t entry_lost, exit_lost, both_lost; /* executions were missed */
	uint64_t lost, at_least;                   /* in all, whatever the reason */
	uint64_t pooled; /* recorded under [other]: more keys than --max-keys */
};

struct plumb_verdict plumb_ledger_judge(const struct plumb_snapshot *total);

/* Has each call that began ended, and each end had its call?  Else one that is in no row may be. */
bool plumb_ledger_is_whole(const struct plumb_snapshot *total);

/* More lost than --strict allows?  PERCENT is as percentile.h's p. */
bool plumb_ledger_is_broken(const struct plumb_verdict *v, uint64_t percent);

#endif
