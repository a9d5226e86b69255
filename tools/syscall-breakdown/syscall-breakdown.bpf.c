/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "syscall-breakdown.h"
#include <plumb/common.bpf.h>
#include <plumb/hist.h>

/* Where a call was seen on the CPU, and where it was off it. */
struct places {
	__u32 n_on, n_off;
	__u32 elsewhere; /* samples for which there was no room */
	__s32 here;      /* the stack as it left the CPU last */
	struct place_on {
		__s32 kernel;
		__u32 samples;
	} on[BREAKDOWN_ON];
	struct place_off {
		__s32 kernel;
		__u32 pad;
		__u64 blocked, runnable; /* ns */
	} off[BREAKDOWN_OFF];
};
#define PLUMB_THREAD_OWN places

#define SPLIT_BEGINS(t) ((t)->own.n_on = (t)->own.n_off = (t)->own.elsewhere = 0)
#define SPLIT_LEAVES(ctx, t, task)                                                                 \
	((t)->own.here = stack_number(ctx, 0, bpf_get_smp_processor_id()))
#define SPLIT_WAS_AWAY(t, away, waited) was_away(t, away, waited)

#include <plumb/stack.bpf.h>

struct plumb_thread;
static __always_inline void was_away(struct plumb_thread *t, __u64 away, __u64 waited);

#define PLUMB_KEY struct plumb_stack_key
#include <plumb/keys.bpf.h>
#include <plumb/timed.bpf.h>
#include <plumb/totals.bpf.h>

/* Calls of less are left out.  The loader may raise it while the programs run. */
__u64 breakdown_min = 0;
__u32 breakdown_pass = BREAKDOWN_ALL;
__u64 breakdown_first[BREAKDOWN_BUCKETS] = {};

/* Once more on the CPU there; false: there is no room for another place. */
static __always_inline bool was_on(struct places *p, __s32 kernel)
{
	__u32 i;

	for (i = 0; i < BREAKDOWN_ON; i++) {
		if (i >= p->n_on) {
			p->n_on = i + 1;
			p->on[i] = (struct place_on){.kernel = kernel};
		}
		if (p->on[i].kernel == kernel) {
			p->on[i].samples++;
			return true;
		}
	}
	return false;
}

/* The entry of a stack, a new one if need be; the last one is for all others. */
static __always_inline struct place_off *place_off(struct places *p, __s32 kernel)
{
	__u32 i;

	for (i = 0; i < BREAKDOWN_OFF; i++) {
		if (i >= p->n_off) {
			p->n_off = i + 1;
			p->off[i] = (struct place_off){.kernel = kernel};
			break;
		}
		if (p->off[i].kernel == kernel)
			return &p->off[i];
	}
	if (i >= BREAKDOWN_OFF - 1) {
		i = BREAKDOWN_OFF - 1;
		p->off[i].kernel = PLUMB_LOST_STACK;
	}
	return &p->off[i];
}

static __always_inline void was_away(struct plumb_thread *t, __u64 away, __u64 waited)
{
	struct place_off *place = place_off(&t->own, t->own.here);

	if (t->runnable) {
		place->runnable += away;
	} else {
		place->blocked += away - waited;
		place->runnable += waited;
	}
}

/* SLOT 0 is of stacks for which there was no room. */
static __always_inline struct plumb_totals *totals_of_stack(__s32 kernel, __u32 what, __u32 cpu,
							    __u32 *slot)
{
	struct plumb_stack_key key = {.user = PLUMB_NO_STACK, .kernel = kernel, .what = what};

	key_find(&key, slot);
	return totals_of(*slot, cpu);
}

/* A sample can come between the load and the store of another addition. */
static __always_inline void add_on(__s32 kernel, __u32 samples, __u32 cpu)
{
	__u32 slot;
	struct plumb_totals *totals = totals_of_stack(kernel, 0, cpu, &slot);

	if (totals)
		__sync_fetch_and_add(&totals->extra[1], samples);
}

/* At most LEFT ns, since the scheduler's clock is another one; how many of them then remain. */
static __always_inline __u64 add_off(const struct place_off *p, __u64 left, __u32 cpu)
{
	__u64 blocked = p->blocked < left ? p->blocked : left, runnable;
	__u32 slot;
	struct plumb_totals *totals = totals_of_stack(p->kernel, 0, cpu, &slot);

	if (!totals)
		return left;
	left -= blocked;
	runnable = p->runnable < left ? p->runnable : left;
	plumb_add(totals->sum, blocked);
	plumb_add(totals->extra[0], runnable);
	return left - runnable;
}

static __always_inline void add_call(struct plumb_thread *t, struct task_struct *task, __u64 ns,
				     __u32 cpu)
{
	__u32 slot, i;
	struct plumb_totals *totals = totals_of_stack(PLUMB_NO_STACK, BREAKDOWN_CALLS, cpu, &slot);
	__u64 left = ns;

	/* It is the first key of all: no room is an accident (see key_find()). */
	if (!slot || !totals) {
		ledger_count(cpu, no_state);
		return;
	}
	split_back(t, task);
	for (i = 0; i < BREAKDOWN_OFF && i < t->own.n_off; i++)
		left = add_off(&t->own.off[i], left, cpu);
	for (i = 0; i < BREAKDOWN_ON && i < t->own.n_on; i++)
		add_on(t->own.on[i].kernel, t->own.on[i].samples, cpu);
	if (t->own.elsewhere)
		add_on(PLUMB_LOST_STACK, t->own.elsewhere, cpu);
	plumb_add(totals->count, 1);
	plumb_add(totals->sum, ns);
	plumb_add(totals->extra[0], left);
}

static __always_inline void timed_end(const struct timed_call *c)
{
	struct task_struct *task;
	__u32 cpu = bpf_get_smp_processor_id(), i;
	struct plumb_thread *t;

	if (breakdown_pass == BREAKDOWN_FIRST) {
		i = plumb_hist_index(c->ns, BREAKDOWN_PRECISION) & (BREAKDOWN_BUCKETS - 1);
		__sync_fetch_and_add(&breakdown_first[i], 1);
	}
	if (breakdown_pass == BREAKDOWN_FIRST || c->ns < breakdown_min) {
		ledger_count(cpu, left_out);
		return;
	}
	task = current_task();
	t = c->t ? c->t : inflight_get(task);
	if (t)
		add_call(t, task, c->ns, cpu);
	else
		ledger_count(cpu, no_state);
}

/* It cannot come between a call's end and what is then made of it: START is 0 by that time. */
SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	const struct plumb_seat *seat;
	struct plumb_thread *t;
	__u64 start;
	__s32 kernel;

	if (!current_tid(task) || !filter_thread(task))
		return 0;
	t = inflight_get(task);
	if (!t)
		return 0;
	seat = seat_of(t, task);
	start = seat ? seat->start : t->start;
	if (!start)
		return 0;
	kernel = stack_number(ctx, 0, cpu);
	if (was_on(&t->own, kernel))
		return 0;
	/* A call that is in the report whenever it ends needs no room. */
	if (breakdown_pass != BREAKDOWN_FIRST && bpf_ktime_get_ns() - start >= breakdown_min)
		add_on(kernel, 1, cpu);
	else
		t->own.elsewhere++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
