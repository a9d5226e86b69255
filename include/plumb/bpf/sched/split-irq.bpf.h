/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * split-irq: what interrupts take of the time of calls.  They add it themselves, so that a call
 * that is not interrupted takes no longer.
 */
#pragma once

#include <plumb/bpf/sched/irq-time.bpf.h>
#include <plumb/bpf/sched/split.bpf.h>

static __always_inline void irq_time_ended(struct irq_time *i, __u64 ns)
{
	struct task_struct *task = current_task();
	struct call_thread *t = filter_thread(task) ? inflight_get(task) : NULL;
	struct plumb_inflight_slot *inflight_slot;

	if (!t)
		return;
	inflight_slot = inflight_slot_of(t, task);
	if (inflight_slot ? inflight_slot->ended : !t->start || t->ret.ended)
		return;
	t->off[PLUMB_IRQ] += ns;
	if (inflight_slot)
		inflight_slot->left = 1;
}
