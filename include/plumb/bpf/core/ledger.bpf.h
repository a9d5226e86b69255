/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ledger, BPF side: the counters of each CPU. */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/core/ledger.h>

/* A global variable, whose address is known at load time: no map lookup. */
struct plumb_ledger plumb_ledgers[PLUMB_LEDGERS] = {};

/*
 * 1 while both entry and exit are traced.  While the programs are being detached one by one, an
 * exit without an entry is expected and not counted.
 */
__u32 plumb_live = 0;

/*
 * What begins from then on is not recorded, if plumb_config.limited: ns, CLOCK_BOOTTIME.  So a
 * policy's max-duration holds even if the tool, which would detach the programs, is stopped.
 */
__u64 plumb_deadline = 0;

/*
 * What was counted before then may be in a report: ns, CLOCK_MONOTONIC.  The loader sets it to the
 * greatest number while it reads rows, and then to the time.
 */
__u64 plumb_read_until = 0;

/* The index of entry N of CPU, in an array of 2^BITS entries per ledger. */
static __always_inline __u64 ledger_index(__u32 cpu, __u64 n, __u32 bits)
{
	__u64 at = ((__u64)cpu << bits) + n;

	barrier_var(at); /* keeps the mask last, which the verifier of 5.10 needs */
	return at & ((PLUMB_LEDGERS << bits) - 1);
}

/* Adds N to FIELD in the ledger of CPU. */
#define ledger_add(cpu, field, n) plumb_add(plumb_ledgers[(cpu) & (PLUMB_LEDGERS - 1)].field, n)

#define ledger_count(cpu, field) ledger_add(cpu, field, 1)
