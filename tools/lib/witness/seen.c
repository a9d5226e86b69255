/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/core/collect.h>
#include <plumb/core/run.h>
#include <plumb/core/verdict.h>
#include <plumb/witness/witness.h>

/* The counters are in mapped memory: they are read in a moment. */
uint64_t plumb_witness_began(const struct plumb_run *run)
{
	const struct plumb_ledger *l = run->instance.bpf.ledgers;
	uint64_t n = 0;

	for (size_t i = 0; i < PLUMB_LEDGERS; i++)
		n += l[i].began + l[i].no_state + l[i].too_deep;
	return n;
}

uint64_t plumb_witness_recorded(const struct plumb_run *run)
{
	struct plumb_snapshot snap = {};
	uint64_t n = 0;

	if (!plumb_collect(run, &snap))
		n = plumb_ledger_judge(&snap).recorded + snap.ledger.no_state +
		    snap.ledger.filtered_at_exit + snap.ledger.dropped + snap.ledger.unmatched;
	plumb_snapshot_free(&snap);
	return n;
}
