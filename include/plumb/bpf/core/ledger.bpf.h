/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ledger, BPF face: this CPU's counters. */
#ifndef PLUMB_LEDGER_BPF_H
#define PLUMB_LEDGER_BPF_H

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/core/ledger.h>

/* A global variable: its address is in the program, nothing is looked up. */
struct plumb_ledger plumb_ledgers[PLUMB_LEDGERS] = {};

/*
 * 1 while both ends of a call are traced.  While the programs detach one after
 * the other, an end without an entry is no news.
 */
__u32 plumb_live = 0;

/* Number N of CPU's 2^BITS entries in an array of as many for each ledger. */
static __always_inline __u64 ledger_index(__u32 cpu, __u64 n, __u32 bits)
{
	__u64 at = ((__u64)cpu << bits) + n;

	barrier_var(at); /* what comes last is what the verifier of 5.10 sees */
	return at & ((PLUMB_LEDGERS << bits) - 1);
}

/* Count N more in FIELD of the ledger of CPU. */
#define ledger_add(cpu, field, n) plumb_add(plumb_ledgers[(cpu) & (PLUMB_LEDGERS - 1)].field, n)

#define ledger_count(cpu, field) ledger_add(cpu, field, 1)

#endif
