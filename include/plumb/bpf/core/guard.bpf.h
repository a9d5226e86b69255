/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * guard: programs of fentry's kind that must not come upon themselves.
 *
 * Before 5.12 nothing kept such a program from running inside itself: on a
 * function that it calls, by a helper, it would never come back.  There each asks
 * this first.  It cannot be asked on the helper that it calls itself, the number
 * of the CPU: probe.c refuses that one.
 */
#ifndef PLUMB_GUARD_BPF_H
#define PLUMB_GUARD_BPF_H

#include <plumb/bpf/core/ledger.bpf.h>

static __u32 plumb_busy[PLUMB_LEDGERS] = {};

/* May the program go on?  If so it ends with guard_leave(). */
static __always_inline bool guard_enter(void)
{
	volatile __u32 *busy;
	__u32 cpu;

	if (!plumb_config.unguarded)
		return true;
	cpu = bpf_get_smp_processor_id();
	busy = &plumb_busy[cpu & (PLUMB_LEDGERS - 1)];
	if (*busy) {
		ledger_count(cpu, guard_missed);
		return false;
	}
	*busy = 1;
	return true;
}

static __always_inline void guard_leave(void)
{
	volatile __u32 *busy;

	if (!plumb_config.unguarded)
		return;
	busy = &plumb_busy[bpf_get_smp_processor_id() & (PLUMB_LEDGERS - 1)];
	*busy = 0;
}

#endif
