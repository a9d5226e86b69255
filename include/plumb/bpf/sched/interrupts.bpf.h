/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * interrupts: what interrupts a CPU: a timer, or which device.  So a wakeup from there is not taken
 * for one by the thread that was interrupted.  A tool that includes this before sched.bpf.h
 * attaches these programs, if it needs wakers.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/sched/waker.h>

#define SCHED_INTERRUPTS

/* include/linux/interrupt.h; and 1 */
#define SOFTIRQ_TIMER   2
#define SOFTIRQ_BLOCK   5
#define SOFTIRQ_HRTIMER 9

struct sched_interrupt {
	__u32 timer;               /* a timer's function runs */
	__u32 irq;                 /* a device's handler */
	__u32 softirq;             /* its number and 1; 0: none is served */
	char name[PLUMB_COMM_LEN]; /* of the handler, as in /proc/interrupts */
};

PLUMB_MAP(plumb_interrupts, PERCPU_ARRAY, 1, __u32, struct sched_interrupt);

static __always_inline struct sched_interrupt *sched_interrupt(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&plumb_interrupts, &zero);
}

SEC("raw_tp/irq_handler_entry")
int irq_begins(struct bpf_raw_tracepoint_args *ctx)
{
	const struct irqaction *action = (const struct irqaction *)ctx->args[1];
	struct sched_interrupt *i = sched_interrupt();

	if (!i)
		return 0;
	i->name[0] = 0;
	bpf_probe_read_kernel_str(i->name, sizeof(i->name), BPF_CORE_READ(action, name));
	i->irq = 1;
	return 0;
}

SEC("raw_tp/irq_handler_exit")
int irq_ends(void *ctx __attribute__((unused)))
{
	struct sched_interrupt *i = sched_interrupt();

	if (i)
		i->irq = 0;
	return 0;
}

SEC("raw_tp/softirq_entry")
int softirq_begins(struct bpf_raw_tracepoint_args *ctx)
{
	struct sched_interrupt *i = sched_interrupt();

	if (i)
		i->softirq = ctx->args[0] + 1;
	return 0;
}

SEC("raw_tp/softirq_exit")
int softirq_ends(void *ctx __attribute__((unused)))
{
	struct sched_interrupt *i = sched_interrupt();

	if (i)
		i->softirq = 0;
	return 0;
}

static __always_inline int in_timer(__u32 is)
{
	struct sched_interrupt *i = sched_interrupt();

	if (i)
		i->timer = is;
	return 0;
}

SEC("raw_tp/hrtimer_expire_entry")
int hrtimer_begins(void *ctx __attribute__((unused)))
{
	return in_timer(1);
}

SEC("raw_tp/hrtimer_expire_exit")
int hrtimer_ends(void *ctx __attribute__((unused)))
{
	return in_timer(0);
}

SEC("raw_tp/timer_expire_entry")
int timer_begins(void *ctx __attribute__((unused)))
{
	return in_timer(1);
}

SEC("raw_tp/timer_expire_exit")
int timer_ends(void *ctx __attribute__((unused)))
{
	return in_timer(0);
}

/* A waker that is a timer or a device is no thread. */
static __always_inline void waker_interrupt(struct plumb_waker *w)
{
	const struct sched_interrupt *i = sched_interrupt();

	if (!i)
		return;
	if (i->timer || i->softirq == SOFTIRQ_TIMER || i->softirq == SOFTIRQ_HRTIMER) {
		w->kind = PLUMB_WAKER_TIMER;
	} else if (i->irq) {
		w->kind = PLUMB_WAKER_DEVICE;
		__builtin_memcpy(w->comm, i->name, sizeof(w->comm));
	} else if (i->softirq == SOFTIRQ_BLOCK) {
		w->kind = PLUMB_WAKER_DEVICE;
		__builtin_memcpy(w->comm, "block", 6);
	} else if (w->kind == PLUMB_WAKER_EITHER && i->softirq) {
		w->kind = PLUMB_WAKER_SOFTIRQ;
	}
}
