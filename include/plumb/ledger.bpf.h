/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ledger, BPF face: this CPU's counters. */
#ifndef PLUMB_LEDGER_BPF_H
#define PLUMB_LEDGER_BPF_H

#include <plumb/common.bpf.h>
#include <plumb/ledger.h>

/* An array indexed by CPU, not a per-CPU array: its lookup is inlined on 5.10 too. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader: possible CPUs */
	__type(key, __u32);
	__type(value, struct plumb_ledger);
} plumb_ledger SEC(".maps");

/*
 * 1 while both ends of a call are traced.  While the programs detach one after
 * the other, an end without an entry is no news.
 */
__u32 plumb_live = 0;

/* Count one more in FIELD of the ledger of CPU. */
#define ledger_count(cpu, field)                                                                   \
	do {                                                                                       \
		__u32 __cpu = (cpu);                                                               \
		struct plumb_ledger *__l = bpf_map_lookup_elem(&plumb_ledger, &__cpu);             \
		if (__l)                                                                           \
			plumb_add(__l->field, 1);                                                  \
	} while (0)

#endif
