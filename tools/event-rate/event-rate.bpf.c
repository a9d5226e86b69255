/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "event-rate.h"

#include <plumb/bpf/core/cpus.bpf.h>
#include <plumb/bpf/function/trace-targets.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

#define PLUMB_KEY struct event_rate_key
#include <plumb/bpf/key/key-cpu.bpf.h>

const volatile struct rate_config rate_config = {};

/* 1 from the first reading on, which all counts are relative to. */
__u32 rate_counting = 0;

/* The counter of event I on CPU C is at C * n + I. */
PLUMB_MAP(rate_events, PERF_EVENT_ARRAY, 1 /* set by the loader */, __u32, __u32);

PLUMB_MAP(rate_states, ARRAY, 1 /* set by the loader */, __u32, struct rate_state);

static __always_inline __u32 slot_of(struct task_struct *task, __u32 event, __u32 cpu)
{
	struct event_rate_key key = {.event = event};

	return key_cpu_slot(task, &key, cpu);
}

static __always_inline void charge(__u32 slot, __u32 cpu, __u64 n, bool guarded)
{
	struct plumb_totals *totals = totals_of(slot, cpu);

	if (totals && guarded)
		plumb_add(totals->count, n);
	else if (totals)
		atomic_add(&totals->count, n);
}

/* How far the counter at AT has come since it was read last. */
static __always_inline __u64 count_since(struct rate_state *s, __u32 at)
{
	struct bpf_perf_event_value now = {};
	__u64 n;

	/* The time of a counter that its CPU has lost, by going offline, stands still. */
	if (bpf_perf_event_read_value(&rate_events, at, &now, sizeof(now)) ||
	    now.enabled == s->enabled) {
		s->unread++;
		return 0;
	}
	n = now.counter - s->value;
	s->value = now.counter;
	s->enabled = now.enabled;
	s->running = now.running;
	return rate_scaled(n, now.enabled, now.running);
}

static __always_inline void count_event(struct task_struct *task, __u32 i, __u32 cpu, bool wanted,
					bool leaves)
{
	__u32 at = cpu * rate_config.n + i;
	struct rate_state *s = bpf_map_lookup_elem(&rate_states, &at);
	__u32 slot;
	__u64 n;

	if (!s)
		return;
	n = rate_config.direct & 1U << i ? leaves : count_since(s, at);
	if (!(rate_config.after & 1U << i)) {
		if (!n || !wanted)
			return;
		slot = slot_of(task, i, cpu);
		if (!slot && rate_config.clocks & 1U << i)
			s->pooled += n;
		else
			charge(slot, cpu, n, true);
		return;
	}
	/*
	 * A thread that leaves makes one event at most.  But the kernel's counters exceed the
	 * tracepoint by some in 10,000 switches, also in bursts of 70, as perf stat shows, too.
	 */
	if (n && rate_counting) {
		s->surplus += n - 1;
		if (s->left)
			charge(s->left - 1, cpu, 1, true);
	}
	if (leaves)
		s->left = wanted ? slot_of(task, i, cpu) + 1 : 0;
}

/*
 * Charge what the counters of this CPU have counted to the current thread.  The two programs that
 * do this run with interrupts or preemption disabled, so neither interrupts the other.
 */
static __always_inline int count_all(bool leaves)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id(), i;
	bool wanted = rate_counting && plumb_live && filter_thread(task) && filter_entry(task);

	for (i = 0; i < RATE_MAX_COUNTERS && i < rate_config.n; i++)
		count_event(task, i, cpu, wanted, leaves);
	return 0;
}

/* Runs as the thread that leaves the CPU. */
SEC("raw_tp/sched_switch")
int on_switch(void *ctx __attribute__((unused)))
{
	return count_all(true);
}

/* Never attached: the loader runs it on each CPU before it reads the maps. */
SEC("raw_tp")
int on_report(void *ctx __attribute__((unused)))
{
	return count_all(false);
}

static __always_inline bool count_one(__u32 event, bool guarded)
{
	struct task_struct *task = current_task();
	__u32 cpu;

	if (!rate_counting || !plumb_live || !filter_thread(task) || !filter_entry(task))
		return false;
	cpu = bpf_get_smp_processor_id();
	charge(slot_of(task, event, cpu), cpu, 1, guarded);
	return true;
}

/* A software event, one at a time. */
SEC("perf_event")
int on_event(void *ctx __attribute__((unused)))
{
	count_one(PLUMB_TARGET_INDEX(function_own_target()), true);
	return 0;
}

static __always_inline bool fired(void *ctx __attribute__((unused)), __u64 target,
				  bool user __attribute__((unused)), bool guarded)
{
	return count_one(rate_config.n + PLUMB_TARGET_INDEX(target), guarded);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
