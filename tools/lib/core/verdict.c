/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/core/verdict.h>

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Calls that began and were not seen to end, except those whose end is known to be lost. */
static uint64_t count_unended(const struct plumb_ledger *l, uint64_t recorded)
{
	uint64_t n = l->began - recorded - l->dropped - l->filtered_at_exit - l->abandoned -
		     l->exit_lost - l->exit_lost_nested - l->unpaired;

	/* The counters are not read at one instant, so while calls run this may be below 0. */
	return (int64_t)n < 0 ? 0 : n;
}

/*
 * Counts calls by the end that was lost.  Exits that are known to be lost are among the executions
 * that the kernel missed.  Each of the other missed executions is an end of a call that is counted
 * as unmatched, abandoned or in flight; the rest are both ends of calls of which nothing was seen.
 */
static void judge_ends(const struct plumb_snapshot *total, struct plumb_verdict *v)
{
	const struct plumb_ledger *l = &total->ledger;
	uint64_t unended = count_unended(l, v->recorded), left, whole, n;

	v->exit_lost = v->exit_lost_observed = l->exit_lost + l->exit_lost_nested;
	left = less(total->missed, v->exit_lost);
	/* The exit of a call without a state is unmatched, too. */
	v->entry_lost = lesser(less(l->unmatched, l->no_state), left);
	left -= v->entry_lost;
	n = lesser(l->abandoned, left);
	v->abandoned = l->abandoned - n;
	v->exit_lost += n;
	left -= n;
	/* When a thread exits, its state is cleared; a cookie is not. */
	n = total->in_cookies ? lesser(unended, left) : 0;
	v->in_flight = unended - n;
	v->exit_lost += n;
	left -= n;
	whole = total->missed_ends ? lesser(total->missed_whole, left) : left;
	v->both_lost = whole + (left - whole) / 2;
}

bool plumb_row_is_whole(const struct plumb_snapshot *total, const struct plumb_row *row)
{
	return row->slot && (total->stages <= 1 ||
			     !*(const uint32_t *)((const char *)row->key + total->stage_at));
}

static uint64_t count_lost(const struct plumb_ledger *l)
{
#define NONE(name)
#define LOST(name, lost, ...) +((lost) ? l->name : 0)
	return 0 PLUMB_LEDGER_COUNTERS(NONE, LOST);
#undef NONE
#undef LOST
}

struct plumb_verdict plumb_ledger_judge(const struct plumb_snapshot *total)
{
	const struct plumb_ledger *l = &total->ledger;
	struct plumb_verdict v = {};

	for (size_t i = 0; i < total->n; i++) {
		v.recorded += total->rows[i].count;
		if (plumb_row_is_whole(total, &total->rows[i]))
			v.pooled -= total->rows[i].count;
		v.saturated += plumb_dist_saturated(&total->rows[i].dist);
	}
	v.recorded /= total->stages ?: 1;
	v.pooled += v.recorded;
	judge_ends(total, &v);
	v.at_least = count_lost(l) + v.exit_lost_observed;
	v.lost = v.at_least + v.entry_lost + v.exit_lost - v.exit_lost_observed + v.both_lost;
	return v;
}

bool plumb_ledger_is_whole(const struct plumb_snapshot *total)
{
	const struct plumb_verdict v = plumb_ledger_judge(total);

	return !(v.in_flight || v.lost || v.abandoned || total->ledger.unmatched);
}

bool plumb_ledger_is_broken(const struct plumb_verdict *v, uint64_t percent)
{
	const unsigned __int128 whole = 100 * PLUMB_PERCENT;

	return v->lost * whole > (unsigned __int128)(v->recorded + v->lost) * percent;
}
