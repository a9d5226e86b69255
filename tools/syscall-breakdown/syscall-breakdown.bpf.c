/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "syscall-breakdown.h"
#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/core/cpus.bpf.h>
#include <plumb/bpf/hist/hist.h>

struct place_on {
	__s32 kernel;
	__u32 samples;
};

struct place_off {
	__s32 kernel;
	__u32 pad;
	__u64 blocked, preempted_runq; /* ns */
};

/*
 * The stacks of a call's samples on the CPU, and of its times off the CPU: as many as fit, and the
 * sum of all others.
 */
struct places {
	__u32 n_on, n_off;
	__u32 on_elsewhere; /* samples */
	bool ended;         /* the call has: samples would be of the exit program */
	bool has_caller;    /* the next two are known */
	__s32 caller;       /* the user stack */
	__u32 tgid;         /* of that */
	__s32 here;         /* the stack when it last left the CPU */
	struct place_on on[BREAKDOWN_ON];
	struct place_off off[BREAKDOWN_OFF];
	struct place_off off_elsewhere;
};
#define PLUMB_THREAD_OWN places

#include <plumb/bpf/stack/stack.bpf.h>

#define PLUMB_KEY struct plumb_stack_key
#include <plumb/bpf/key/keys.bpf.h>
/* What is known of a call that is held on its way out. */
struct held_call {
	__u64 ns, waited; /* as of its end, or of the wait before */
	__u32 what;
	__s32 kernel; /* the stack at which it is held */
	__s32 caller;
	__u32 tgid;
	bool first; /* it was counted in the first pass */
	bool filtered;
	bool is_new;          /* the call is in no row of a user stack */
	struct places places; /* if FILTERED */
};
#define RETURN_CALL held_call
#include <plumb/bpf/syscall/syscall-timing.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

/* ns: shorter calls are filtered.  The loader may raise it while the programs run. */
__u64 breakdown_min = 0;
__u32 breakdown_pass = BREAKDOWN_ALL;
__u64 breakdown_first[BREAKDOWN_BUCKETS] = {};

/* Defines NAME(places, stack): the entry of a stack, added if missing; NULL: all are in use. */
#define PLACE_OF(name, list, n, most)                                                              \
	static __always_inline struct name *name(struct places *p, __s32 kernel)                   \
	{                                                                                          \
		__u32 i;                                                                           \
                                                                                                   \
		for (i = 0; i < most; i++) {                                                       \
			if (i >= p->n) {                                                           \
				p->n = i + 1;                                                      \
				p->list[i] = (struct name){.kernel = kernel};                      \
			}                                                                          \
			if (p->list[i].kernel == kernel)                                           \
				return &p->list[i];                                                \
		}                                                                                  \
		return NULL;                                                                       \
	}
PLACE_OF(place_on, on, n_on, BREAKDOWN_ON)
PLACE_OF(place_off, off, n_off, BREAKDOWN_OFF)

static __always_inline void split_begins(struct call_thread *t)
{
	t->own.n_on = t->own.n_off = t->own.on_elsewhere = 0;
	t->own.ended = t->own.has_caller = false;
	t->own.off_elsewhere = (struct place_off){.kernel = PLUMB_LOST_STACK};
}

/* Once in a call, if there is something to tell of where it was made. */
static __always_inline void take_caller(void *ctx, struct places *p, struct task_struct *task,
					__u32 cpu)
{
	if (p->has_caller)
		return;
	p->has_caller = true;
	p->tgid = 0;
	p->caller = stack_user(ctx, task, cpu, &p->tgid);
}

static __always_inline void split_leaves(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					 struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id();

	t->own.here = stack_number(ctx, 0, cpu);
	take_caller(ctx, &t->own, task, cpu);
}

static __always_inline void split_was_offcpu(struct call_thread *t, __u64 off_cpu, __u64 waited,
					     const struct sched_stay *stay)
{
	struct place_off *place = place_off(&t->own, t->own.here);

	if (!place)
		place = &t->own.off_elsewhere;
	if (t->preempted) {
		place->preempted_runq += off_cpu;
	} else {
		place->blocked += off_cpu - waited;
		place->preempted_runq += waited;
	}
}

/* Stacks are the rows, and known at the end of a call. */

static __always_inline bool timing_at_entry(void)
{
	return true;
}

static __always_inline void timing_begin(struct call_thread *t, struct task_struct *task,
					 __u64 call)
{
	(void)t, (void)task, (void)call;
}

static __always_inline __u32 timing_slot(struct call_thread *t, struct task_struct *task,
					 __u64 call, __u32 cpu)
{
	(void)t, (void)task, (void)call, (void)cpu;
	return 0;
}

/* plumb_stack_key.what of a call (timing_call.call). */
static __always_inline __u32 what_of(__u64 call)
{
	return (__u32)call | (__u32)(call >> 32) << BREAKDOWN_ABI_SHIFT;
}

/* SLOT 0: all slots are in use, and the stack is not kept. */
static __always_inline struct plumb_totals *totals_of_stack(__s32 kernel, __u32 what, __u32 cpu,
							    __u32 *slot)
{
	struct plumb_stack_key key = {.user = PLUMB_NO_STACK, .kernel = kernel, .what = what};

	key_find(&key, slot);
	return totals_of(*slot, cpu);
}

/* Atomic, since a sample can interrupt another addition between its load and its store. */
static __always_inline void add_on(__s32 kernel, __u32 what, __u32 samples, __u32 cpu)
{
	__u32 slot;
	struct plumb_totals *totals = totals_of_stack(kernel, what, cpu, &slot);

	if (totals)
		atomic_add(&totals->counters[1], samples);
}

/* Add at most LEFT ns, since CPUs' clocks can differ a little; return how many of them remain. */
static __always_inline __u64 add_off(const struct place_off *p, __u32 what, __u64 left, __u32 cpu)
{
	__u64 blocked = p->blocked < left ? p->blocked : left, preempted_runq;
	__u32 slot;
	struct plumb_totals *totals = totals_of_stack(p->kernel, what, cpu, &slot);

	if (!totals)
		return left;
	left -= blocked;
	preempted_runq = p->preempted_runq < left ? p->preempted_runq : left;
	plumb_add(totals->sum, blocked);
	plumb_add(totals->counters[0], preempted_runq);
	return left - preempted_runq;
}

/* Of N calls that were made at a user stack. */
static __always_inline void add_caller(__s32 caller, __u32 tgid, __u32 what, __u32 n, __u64 off_cpu,
				       __u32 samples, __u32 cpu)
{
	struct plumb_stack_key key = {.user = caller,
				      .kernel = PLUMB_NO_STACK,
				      .tgid = tgid,
				      .what = what | BREAKDOWN_CALLERS};
	struct plumb_totals *totals;
	__u32 slot;

	if (caller < 0)
		return;
	key_find(&key, &slot);
	totals = slot ? totals_of(slot, cpu) : NULL;
	if (!totals)
		return;
	plumb_add(totals->counters[0], n);
	plumb_add(totals->sum, off_cpu);
	if (samples) /* of a constant 0 clang makes what 5.10 does not know */
		atomic_add(&totals->counters[1], samples);
}

/* NULL: all slots are in use.  This row is added before any stack of its system call. */
static __always_inline struct plumb_totals *totals_of_calls(__u32 what, __u32 cpu)
{
	__u32 slot;
	struct plumb_totals *totals =
		totals_of_stack(PLUMB_NO_STACK, what | BREAKDOWN_CALLS, cpu, &slot);

	return slot ? totals : NULL;
}

static __noinline int add_call(const struct places *p, __u32 what, __u64 ns)
{
	__u32 cpu = bpf_get_smp_processor_id(), samples, i;
	struct plumb_totals *totals = totals_of_calls(what, cpu);
	__u64 left = ns;

	if (!totals || !p) {
		ledger_count(cpu, no_state);
		return 0;
	}
	samples = p->on_elsewhere;
	for (i = 0; i < BREAKDOWN_OFF && i < p->n_off; i++)
		left = add_off(&p->off[i], what, left, cpu);
	if (p->off_elsewhere.blocked | p->off_elsewhere.preempted_runq)
		left = add_off(&p->off_elsewhere, what, left, cpu);
	for (i = 0; i < BREAKDOWN_ON && i < p->n_on; i++) {
		samples += p->on[i].samples;
		add_on(p->on[i].kernel, what, p->on[i].samples, cpu);
	}
	if (p->on_elsewhere)
		add_on(PLUMB_LOST_STACK, what, p->on_elsewhere, cpu);
	plumb_add(totals->count, 1);
	plumb_add(totals->sum, ns);
	plumb_add(totals->counters[0], left);
	atomic_add(&totals->counters[1], samples);
	if (p->has_caller)
		add_caller(p->caller, p->tgid, what, 1, ns - left, samples, cpu);
	return 0;
}

/* Count a call N times, 1 or -1, in the first pass. */
static __always_inline void count_first(__u64 ns, __u64 n)
{
	__u32 i = plumb_hist_index(ns, BREAKDOWN_PRECISION) & (BREAKDOWN_BUCKETS - 1);

	atomic_add(&breakdown_first[i], n);
}

static __always_inline void timing_end(const struct timing_call *c)
{
	struct task_struct *task;
	__u32 cpu = bpf_get_smp_processor_id();
	struct call_thread *t;

	if (breakdown_pass == BREAKDOWN_FIRST)
		count_first(c->ns, 1);
	if (breakdown_pass == BREAKDOWN_FIRST || c->ns < breakdown_min) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	task = current_task();
	t = c->t ? c->t : inflight_get(task);
	if (!t) {
		ledger_count(cpu, no_state);
		return;
	}
	t->own.ended = true;
	barrier();
	split_back(t, task, cpu);
	add_call(&t->own, what_of(c->call), c->ns);
}

/* --- waits on the way out: they are added to what the call has had so far --- */

/* Whether it was filtered at its exit. */
static __always_inline __u32 return_slot(struct call_thread *t,
					 struct task_struct *task __attribute__((unused)))
{
	return breakdown_pass == BREAKDOWN_FIRST || t->ret.ns < breakdown_min;
}

static __always_inline bool return_undo(struct bpf_raw_tracepoint_args *ctx, struct call_thread *t,
					struct return_held *h, __u32 cpu)
{
	bool had_caller;

	h->call.ns = t->ret.ns;
	h->call.waited = t->ret.waited;
	h->call.what = what_of(t->call);
	h->call.kernel = stack_number(ctx, 0, cpu);
	had_caller = t->own.has_caller;
	take_caller(ctx, &t->own, current_task(), cpu);
	h->call.caller = t->own.caller;
	h->call.tgid = t->own.tgid;
	h->call.is_new = !had_caller && !t->ret.slot;
	h->call.first = breakdown_pass == BREAKDOWN_FIRST;
	h->call.filtered = t->ret.slot;
	if (h->call.first)
		count_first(t->ret.ns, -1);
	if (h->call.filtered)
		h->call.places = t->own;
	return true;
}

static __always_inline void add_wait(const struct return_held *h, __u32 cpu)
{
	__u64 waited = h->ret.waited - h->call.waited, ns = h->ret.ns - h->call.ns, left;
	struct plumb_totals *totals = totals_of_calls(h->call.what, cpu);
	struct place_off place = {.kernel = h->call.kernel};

	if (!totals)
		return;
	if (h->ret.cause == PLUMB_RETURN_ASLEEP)
		place.blocked = waited;
	else
		place.preempted_runq = waited;
	plumb_add(totals->sum, ns);
	left = add_off(&place, h->call.what, ns, cpu);
	plumb_add(totals->counters[0], left);
	add_caller(h->call.caller, h->call.tgid, h->call.what, h->call.is_new, ns - left, 0, cpu);
}

static __always_inline void return_redo(struct return_held *h, __u32 cpu)
{
	if (h->call.first)
		count_first(h->ret.ns, 1);
	if (h->call.filtered) {
		if (h->call.first || h->ret.ns < breakdown_min)
			return;
		ledger_add(cpu, filtered_at_exit, -1);
		add_call(&h->call.places, h->call.what, h->call.ns);
		h->ret.slot = 0;
	}
	add_wait(h, cpu);
}

/* Record a sample of a call in flight that is certain to be reported.  False: all slots in use. */
static __always_inline bool add_sample(__s32 kernel, __u64 call, __u32 cpu)
{
	__u32 what = what_of(call);
	struct plumb_totals *totals = totals_of_calls(what, cpu);

	if (totals) {
		add_on(kernel, what, 1, cpu);
		atomic_add(&totals->counters[1], 1);
	}
	return totals;
}

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	const struct plumb_inflight_slot *inflight_slot;
	struct call_thread *t;
	struct place_on *place;
	__u64 start;
	__s32 kernel;

	if (!current_host_tid(task) || !filter_thread(task))
		return 0;
	t = inflight_get(task);
	if (!t)
		return 0;
	inflight_slot = inflight_slot_of(t, task);
	start = inflight_slot ? inflight_slot->start : t->start;
	if (!start || t->own.ended)
		return 0;
	kernel = stack_number(ctx, 0, cpu);
	take_caller(ctx, &t->own, task, cpu);
	place = place_on(&t->own, kernel);
	/*
	 * If the stack does not fit, its sample can still be recorded, provided that the call is
	 * certain to be reported.  ns off the CPU cannot: their bound is known at the call's end.
	 */
	if (place)
		place->samples++;
	else if (breakdown_pass == BREAKDOWN_FIRST || bpf_ktime_get_ns() - start < breakdown_min ||
		 !add_sample(kernel, inflight_slot ? inflight_slot->call : t->call, cpu))
		t->own.on_elsewhere++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
