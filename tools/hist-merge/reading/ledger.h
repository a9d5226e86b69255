/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ledger: the ledger of a report, and sums of ledgers. */
#pragma once

#include "reading/scan.h"
#include <jansson.h>
#include <plumb/bpf/core/ledger.h>

enum {
	LEDGER_RECORDED,
	LEDGER_LOST,
	LEDGER_POOLED,
	LEDGER_AT_LEAST,
	LEDGER_ENTRY_LOST,
	LEDGER_EXIT_LOST,
	LEDGER_BOTH_LOST,
	LEDGER_IN_FLIGHT,
	LEDGER_ABANDONED,
	LEDGER_OBSERVED, /* of EXIT_LOST */
	LEDGER_SATURATED,
#define PLUMB_NONE(name)
#define PLUMB_ONE(name, ...) LEDGER_##name,
	PLUMB_LEDGER_COUNTERS(PLUMB_NONE, PLUMB_ONE)
#undef PLUMB_NONE
#undef PLUMB_ONE
		LEDGER_MISSED,
	LEDGER_COUNTERS,
};

struct ledger {
	uint64_t n[LEDGER_COUNTERS];
	/* In one of the runs at least; LOST then has what was seen. */
	bool unknown[LEDGER_COUNTERS];
	bool cpus_changed, cpus_unknown; /* unknown: nobody looked, of one at least */
};

/* The value of the member "ledger". */
bool ledger_scan(struct scan *s, struct ledger *l);
void ledger_add(struct ledger *to, const struct ledger *l);
json_t *ledger_json(const struct ledger *l);

/* A sum; beyond 2^63-1, which is the largest number of plumb/2, it stays there. */
uint64_t ledger_sum(uint64_t a, uint64_t b);
