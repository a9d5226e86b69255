/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * victims: the threads whose time interrupts and softirqs take.  Each CPU sums up what it takes
 * from one thread, until it interrupts another: only then there is a hash lookup.
 */
#pragma once

#include "irq-latency.h"
#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/sched/irq-hooks.bpf.h>

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

PLUMB_MAP(irq_cpus, PERCPU_ARRAY, 1, __u32, struct irq_cpu);
PLUMB_MAP(irq_victims, HASH, IRQ_VICTIMS, struct irq_victim_key, struct irq_victim);

__u64 irq_untold = 0; /* ns */

static __always_inline struct irq_cpu *irq_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&irq_cpus, &zero);
}

/* Writes V, of a thread that this CPU interrupted before, to the map. */
static __noinline void victim_keep(const struct irq_victim *v)
{
	struct irq_victim *known = bpf_map_lookup_elem(&irq_victims, &v->key);

	if (!known) {
		if (bpf_map_update_elem(&irq_victims, &v->key, v, BPF_NOEXIST))
			atomic_add(&irq_untold, v->taken);
		return;
	}
	known->taken += v->taken;
	known->count += v->count;
	__builtin_memcpy(known->comm, v->comm, sizeof(known->comm));
	if (v->longest > known->longest) {
		known->longest = v->longest;
		known->by = v->by;
	}
}

static __noinline void victim_changes(struct irq_victim *v, __u64 id, __u32 cpu, __u32 softirq)
{
	struct task_struct *task = current_task();
	const char softirqd[] = "ksoftirqd";

	if (v->key.id && v->count)
		victim_keep(v);
	__builtin_memset(v, 0, sizeof(*v));
	v->pid = current_pid(task);
	v->tid = current_tid(task);
	v->ran = current_read(task, se.sum_exec_runtime);
	bpf_get_current_comm(v->comm, sizeof(v->comm)); /* now, as OWN needs it */
	v->own = !!(current_read(task, flags) & PF_KTHREAD);
	for (__u32 i = 0; i < sizeof(softirqd) - 1; i++)
		v->own &= v->comm[i] == softirqd[i];
	v->key.id = id;
	v->key.cpu = cpu;
	v->key.softirq = softirq;
}

/*
 * The current thread loses NS to WHAT.  NULL: it does not; an idle CPU loses nothing, and ksoftirqd
 * itself runs softirqs.
 */
static __always_inline struct irq_victim *victim_loses(struct irq_cpu *c, __u32 what, __u32 cpu,
						       __u64 ns)
{
	bool softirq = IRQ_KIND(what) == IRQ_KIND(IRQ_SOFTIRQ);
	struct irq_victim *v = &c->victims[softirq];
	__u64 id = bpf_get_current_pid_tgid();

	if (ns > c->gap_most) {
		c->gap_most = ns;
		c->gap_by = what;
	}
	if (!(__u32)id) {
		c->idle[softirq] += ns;
		return NULL;
	}
	if (v->key.id != id)
		victim_changes(v, id, cpu, softirq);
	if (softirq && (v->own || softirqs_are_threads())) {
		c->softirqd += ns;
		return NULL;
	}
	if (!(v->count++ & 63)) /* it may have another name now */
		bpf_get_current_comm(v->comm, sizeof(v->comm));
	v->taken += ns;
	return v;
}

/* The way from a handler to a softirq that it raised takes less than IRQ_GAP. */
static __always_inline void gap_begins(struct irq_cpu *c, __u64 now)
{
	if (now - c->gap_ended <= IRQ_GAP)
		return;
	c->gap_began = now;
	c->gap_most = 0;
}

static __always_inline void gap_ends(struct irq_cpu *c, struct irq_victim *v, __u64 began,
				     __u64 now)
{
	c->gap_ended = now;
	if (v && now - began > v->longest) {
		v->longest = now - began;
		v->by = c->gap_by;
	}
}
