/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/verdict.h>

struct plumb_verdict plumb_ledger_judge(const struct plumb_snapshot *total)
{
	const struct plumb_ledger *l = &total->ledger;
	struct plumb_verdict v = {
		.lost = l->no_state + l->too_deep + l->untracked + l->dropped + total->missed,
	};

	for (size_t i = 0; i < total->n; i++) {
		v.recorded += total->rows[i].count;
		if (!total->rows[i].slot)
			v.pooled = total->rows[i].count;
		v.saturated += plumb_dist_saturated(&total->rows[i].dist);
	}
	/* All counters are not read at one instant: while calls run this can dip below 0. */
	v.in_flight = l->began - v.recorded - l->dropped - l->left_out - l->abandoned -
		      l->overwritten - l->overtaken;
	if ((int64_t)v.in_flight < 0)
		v.in_flight = 0;
	return v;
}

bool plumb_ledger_is_whole(const struct plumb_snapshot *total)
{
	const struct plumb_ledger *l = &total->ledger;
	const struct plumb_verdict v = plumb_ledger_judge(total);

	return !(v.in_flight || v.lost || l->abandoned || l->unmatched || l->overwritten ||
		 l->overtaken);
}

bool plumb_ledger_is_broken(const struct plumb_verdict *v, uint64_t percent)
{
	const unsigned __int128 whole = 100 * PLUMB_PERCENT;

	return v->lost * whole > (unsigned __int128)(v->recorded + v->lost) * percent;
}
