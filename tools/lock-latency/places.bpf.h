/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * places: where threads wait, sleep and release locks: functions; with LOCK_STACKS stacks, and rows
 * have no histograms.
 */
#pragma once

#include "caller.bpf.h"
#include "waits.bpf.h"

#ifdef LOCK_STACKS

#include <plumb/bpf/stack/stack.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

static __always_inline void place_wait(void *ctx, struct lock_wait *w, struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id();

	w->kernel = stack_number(ctx, 0, cpu);
	w->user = stack_user(ctx, task, cpu, &w->tgid);
	w->release = PLUMB_NO_STACK;
}

static __always_inline void place_release(void *ctx, struct lock_wait *w)
{
	w->release = stack_number(ctx, 0, bpf_get_smp_processor_id());
}

/* Where the current thread goes to sleep. */
static __always_inline __u64 place_sleep(void *ctx)
{
	__s32 number = stack_number(ctx, 0, bpf_get_smp_processor_id());

	return number < 0 ? LOCK_PLACE_UNKNOWN : LOCK_PLACES_FROM + (__u64)number;
}

static __always_inline void place_key(struct lock_key *key, const struct lock_wait *w)
{
	const bool slept = w->asleep >= LOCK_PLACES_FROM;

	key->stack.kernel = w->kernel;
	key->stack.user = w->user;
	key->stack.tgid = w->tgid;
	key->owner_at.user = PLUMB_NO_STACK;
	key->owner_at.kernel = slept ? (__s32)(w->asleep - LOCK_PLACES_FROM) : w->release;
	if (key->owner_at.kernel >= 0)
		key->owner_at.kind = slept ? PLUMB_OWNER_SLEEPS : PLUMB_OWNER_RELEASES;
}

/* OFF has all parts of NS. */
static __noinline int place_record(const struct lock_wait *w, const __u64 *off, __u32 slot,
				   __u64 ns, bool failed)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals = totals_of(slot, cpu);

	(void)w, (void)off;
	if (totals) {
		totals_add_call(totals, failed);
		totals_add_time(totals, ns);
	}
	return 0;
}

#else

enum { SPLIT_PARTS = LOCK_ON_CPU };
#include <plumb/bpf/hist/split-hist.bpf.h>

static __always_inline void place_wait(void *ctx, struct lock_wait *w, struct task_struct *task)
{
	(void)ctx, (void)w, (void)task;
}

static __always_inline void place_release(void *ctx, struct lock_wait *w)
{
	(void)ctx, (void)w;
}

static __always_inline __u64 place_sleep(void *ctx)
{
	return caller_walk(ctx, true) ?: LOCK_PLACE_UNKNOWN;
}

static __always_inline void place_key(struct lock_key *key, const struct lock_wait *w)
{
	if (plumb_config.by & LOCK_BY_OWNER) {
		key->owner = w->held;
		key->owner.call = 0;
	}
	if (plumb_config.by & LOCK_BY_DOING)
		key->owner.call = w->held.call;
	if (plumb_config.by & LOCK_BY_ASLEEP)
		key->asleep = w->asleep;
}

/* OFF has all parts of NS. */
static __noinline int place_record(const struct lock_wait *w, const __u64 *off, __u32 slot,
				   __u64 ns, bool failed)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals = hist_totals(slot, cpu);

	if (!w || !off) /* for the verifier */
		return 0;
	split_record(off, slot, cpu, ns, off[LOCK_ON_CPU], failed);
	if (totals && w->handed_on)
		plumb_add(totals->counters[LOCK_HANDED_ON], 1);
	return 0;
}

#endif
