/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * guard: a recursion guard for fentry and fexit programs.
 *
 * Before 5.12 the kernel does not prevent such a program from recursing: attached to a function
 * that one of its helpers calls, it would recurse without end.  There each program calls
 * guard_enter() first.  That does not protect the helper that the guard itself calls
 * (bpf_get_smp_processor_id()): probe.c refuses to attach to it.
 */
#pragma once

#include <plumb/bpf/core/ledger.bpf.h>

static __u32 plumb_busy[PLUMB_LEDGERS] = {};

/* False if the program must return at once; otherwise it calls guard_leave() at its end. */
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
