/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* interrupts: what they take of the current thread's time on its CPU. */
#pragma once

#include <plumb/bpf/sched/irq-time.bpf.h>
#include "rows.bpf.h"

/* ns that are added to a thread before it leaves its CPU, of which each costs. */
#define MANY_INTERRUPTS 1000000

static __always_inline void irq_time_ended(struct irq_time *t, __u64 ns)
{
	t->ns += ns;
}

/*
 * The time of interrupts since this was last called on this CPU, or a switch has ended, if that is
 * at least LEAST ns; otherwise 0, and it is kept for the next call.
 */
static __always_inline __u64 interrupts_take(__u64 least)
{
	struct irq_time *t = irq_time();
	__u64 ns;

	if (!t || t->ns - t->taken < least)
		return 0;
	ns = t->ns - t->taken;
	t->taken = t->ns;
	return ns;
}

/* The current thread was interrupted since this was last called, for at least LEAST ns. */
static __always_inline void add_interrupts(__u64 least)
{
	__u64 ns = interrupts_take(least);

	if (ns)
		add_plain(WALL_INTERRUPT, ns);
}
