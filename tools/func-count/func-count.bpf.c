/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "func-count.h"

#define PLUMB_STATELESS
#include <plumb/guard.bpf.h>
#include <plumb/lifecycle.bpf.h>
#include <plumb/target.bpf.h>
#include <plumb/totals.bpf.h>

#define PLUMB_KEY struct func_count_key
#include <plumb/key-cpu.bpf.h>

const volatile __u32 func_count_single = 0; /* there is one target: number 0 */

static __always_inline __u32 count_slot(struct task_struct *task, __u32 target, __u32 cpu)
{
	struct func_count_key key = {};

	if (plumb_config.by == FUNC_COUNT_BY_FUNC)
		return target < plumb_config.slots - 1 ? target + 1 : 0;
	if (plumb_config.by & FUNC_COUNT_BY_FUNC)
		key.target = target;
	return key_cpu_slot(task, &key, cpu);
}

/*
 * Counted is only while all targets are attached, so that all have the same time.
 * GUARDED: the kernel does not run the program while it runs on that CPU already.
 */
static __always_inline void count(__u64 target, bool guarded)
{
	struct task_struct *task = current_task();
	struct plumb_totals *totals;
	__u32 cpu, slot;

	if (!plumb_live || !filter_thread(task) || !filter_entry(task))
		return;
	cpu = bpf_get_smp_processor_id();
	slot = count_slot(task, PLUMB_TARGET_INDEX(target), cpu);
	totals = totals_of(slot, cpu);
	if (!totals)
		return;
	if (guarded)
		plumb_add(totals->count, 1);
	else
		__sync_fetch_and_add(&totals->count, 1);
}

/* The target of a program that is attached to many at once. */
#define count_target(ctx) (func_count_single ? 0 : bpf_get_attach_cookie(ctx))

SEC("fentry")
int count_fentry(void *ctx __attribute__((unused)))
{
	if (guard_enter()) {
		count(function_own_target(), true);
		guard_leave();
	}
	return 0;
}

SEC("fentry.multi")
int count_fentry_multi(void *ctx)
{
	count(count_target(ctx), true);
	return 0;
}

SEC("kprobe")
int count_kprobe(void *ctx __attribute__((unused)))
{
	count(function_own_target(), true);
	return 0;
}

SEC("kprobe.multi")
int count_kprobe_multi(void *ctx)
{
	count(count_target(ctx), true);
	return 0;
}

/* Before 6.1 an interrupt's tracepoint may come upon itself. */
SEC("raw_tp")
int count_raw(void *ctx __attribute__((unused)))
{
	count(function_own_target(), false);
	return 0;
}

SEC("tracepoint")
int count_tracepoint(void *ctx __attribute__((unused)))
{
	count(function_own_target(), true);
	return 0;
}

/* A thread can be preempted in here by another that comes here. */
SEC("uprobe")
int count_uprobe(void *ctx __attribute__((unused)))
{
	count(function_own_target(), false);
	return 0;
}

SEC("uprobe.multi")
int count_uprobe_multi(void *ctx)
{
	count(count_target(ctx), false);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
