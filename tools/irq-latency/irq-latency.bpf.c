/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A handler interrupts the program at the beginning or the end of a softirq, but not the other way
 * round.  So the two write rows and victims of their own, and the start of a softirq is written
 * last at its beginning, and cleared last at its end: what interrupts the program is nested then,
 * or outside.
 */
#include "irq-latency.h"

#define PLUMB_KEY struct irq_key
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/sched/irq-hooks.bpf.h>

#include "victims.bpf.h"

/* In irq_cpu.irq and .softirq: a filter rejected it. */
#define REJECTED ~0ULL

/*
 * Programs of softirqs, during which those of interrupts run, have ledgers of their own, in the
 * upper half, if there are not too many CPUs.
 */
#define irq_count(cpu, softirq, field)                                                             \
	plumb_add_alone(plumb_config.cpus <= IRQ_CPUS,                                             \
			plumb_ledgers[ledger_index(cpu, (softirq)*IRQ_CPUS, 0)].field, 1)

static __always_inline bool is_rejected(void)
{
	struct task_struct *task;

	if (!filter_rejects_threads())
		return filter_is_over();
	/* Those that interrupt the tool itself are interrupts nevertheless. */
	task = current_task();
	return !filter_ids(task) || !filter_entry(task);
}

static __always_inline bool begins(__u64 *start, __u32 cpu, bool softirq)
{
	if (*start && *start != REJECTED)
		irq_count(cpu, softirq, exit_lost);
	*start = 0;
	if (!plumb_live)
		return false;
	if (is_rejected()) {
		*start = REJECTED;
		return false;
	}
	irq_count(cpu, softirq, began);
	return true;
}

/* Returns when it began; 0: it is not recorded. */
static __always_inline __u64 ends(__u64 *start, __u32 cpu, bool softirq)
{
	__u64 began = *start;

	if (began == REJECTED) {
		*start = 0;
		return 0;
	}
	if (!began && plumb_live && !filter_rejects_threads())
		irq_count(cpu, softirq, unmatched);
	return began;
}

static __always_inline void record(struct irq_cpu *c, __u32 what, __u32 phase, __u32 cpu, __u64 ns)
{
	struct irq_key key = {.kind = IRQ_KIND(what), .phase = phase};
	__u32 *cached =
		&c->slots[phase & 1][IRQ_KIND(what) & 3][IRQ_NUMBER(what) & (IRQ_CACHED - 1)];
	const bool is_cached = !KEY_HAS_WHO && IRQ_NUMBER(what) < IRQ_CACHED;
	__u32 slot = is_cached ? *cached : 0;

	if (!slot) {
		if (plumb_config.by & IRQ_BY_HANDLER)
			key.what = what;
		slot = key_cpu_slot(current_task(), &key, cpu);
		if (is_cached)
			*cached = slot;
	}
	/* A row is of one kind, but for [other]. */
	if (slot)
		hist_record_alone(slot, cpu, ns);
	else
		hist_record(slot, cpu, ns, 0, false);
}

static __always_inline int irq_enters(__u32 what)
{
	struct irq_cpu *c = irq_cpu();
	__u64 now;

	if (!c || !begins(&c->irq, bpf_get_smp_processor_id(), false))
		return 0;
	now = bpf_ktime_get_ns();
	if (!c->softirq)
		gap_begins(c, now);
	c->irq = now;
	return 0;
}

static __always_inline int irq_leaves(__u32 what)
{
	__u64 now = bpf_ktime_get_ns(), began, ns;
	__u32 cpu = bpf_get_smp_processor_id();
	struct irq_cpu *c = irq_cpu();
	struct irq_victim *v;

	if (!c)
		return 0;
	began = ends(&c->irq, cpu, false);
	if (!began)
		return 0;
	ns = now - began;
	c->irq = 0;
	v = victim_loses(c, what, cpu, ns);
	if (c->softirq)
		c->nested += ns;
	else
		gap_ends(c, v, c->gap_began, now);
	record(c, what, IRQ_RUNS, cpu, ns);
	return 0;
}

/* --- softirqs: from when they are raised, which is in order with what the kernel does --- */

/* Loaded with IRQ_BY_PHASE only. */
SEC("raw_tp/softirq_raise")
int softirq_raised(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 vector = ctx->args[0] & 15, bit = 1U << vector;
	struct irq_cpu *c = plumb_live ? irq_cpu() : NULL;
	struct irq_raised *r;

	if (!c)
		return 0;
	r = &c->raised[vector];
	if (c->pending & bit)
		r->again = bpf_ktime_get_ns();
	else if (c->batch & bit) /* it was raised before, and has not run yet */
		r->next = bpf_ktime_get_ns();
	else
		r->first = bpf_ktime_get_ns();
	c->pending |= bit;
	return 0;
}

/*
 * When the softirq that begins was raised, ns; 0: not known.  The kernel takes all that were raised
 * at a time, and runs these; others are raised meanwhile.
 */
static __always_inline __u64 raised_at(struct irq_cpu *c, __u32 what)
{
	__u32 vector = IRQ_NUMBER(what) & 15, bit = 1U << vector, taken;
	struct irq_raised *r = &c->raised[vector];
	__u64 at = r->first;

	if (!(c->batch & bit)) {
		taken = c->pending;
		c->batch |= taken;
		c->pending &= ~taken;
	}
	if (!(c->batch & bit)) {
		/*
		 * An interrupt has raised it after the kernel took those that were, and before the
		 * first of these began.
		 */
		at = r->again;
		r->again = 0;
		return at;
	}
	c->batch &= ~bit;
	r->first = r->next;
	r->next = 0;
	return at;
}

static __always_inline void record_wait(struct irq_cpu *c, __u32 what, __u32 cpu, __u64 until)
{
	if (!c->since) {
		irq_count(cpu, true, unmatched);
		return;
	}
	irq_count(cpu, true, began);
	record(c, what, IRQ_RAISED, cpu, until - c->since);
}

static __always_inline int softirq_enters(__u32 what)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct irq_cpu *c = irq_cpu();
	__u64 now;

	if (!c)
		return 0;
	if (plumb_config.by & IRQ_BY_PHASE)
		c->since = raised_at(c, what);
	if (!begins(&c->softirq, cpu, true))
		return 0;
	c->nested = 0;
	now = bpf_ktime_get_ns();
	gap_begins(c, now);
	c->softirq = now;
	return 0;
}

static __always_inline int softirq_leaves(__u32 what)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct irq_cpu *c = irq_cpu();
	__u64 now, nested, began, ns, gap;

	if (!c)
		return 0;
	now = irq_clock(&c->nested, &nested);
	began = ends(&c->softirq, cpu, true);
	if (!began)
		return 0;
	ns = now - began - nested;
	gap = c->gap_began;
	gap_ends(c, victim_loses(c, what, cpu, ns), gap, now);
	record(c, what, IRQ_RUNS, cpu, ns);
	if (plumb_config.by & IRQ_BY_PHASE)
		record_wait(c, what, cpu, began);
	c->softirq = 0;
	return 0;
}

/* --- a vector that wall-time has not --- */

SEC("raw_tp/irq_work_entry")
int irq_work_begins(void *ctx __attribute__((unused)))
{
	return irq_enters(IRQ_VECTOR | IRQ_IRQ_WORK);
}

SEC("raw_tp/irq_work_exit")
int irq_work_ends(void *ctx __attribute__((unused)))
{
	return irq_leaves(IRQ_VECTOR | IRQ_IRQ_WORK);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
