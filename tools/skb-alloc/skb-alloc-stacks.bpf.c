/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* skb-alloc --stacks: the stacks that call __alloc_skb(). */
#include <plumb/bpf/core/guard.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/stack/stacks.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

static __always_inline int count(void *ctx)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;

	if (!filter_thread(task) || !filter_entry(task))
		return 0;
	totals = totals_of(stack_slot(ctx, task, cpu, 0), cpu);
	if (totals)
		totals_add_call(totals, 0);
	return 0;
}

SEC("fentry")
int count_fentry(void *ctx)
{
	if (guard_enter()) {
		count(ctx);
		guard_leave();
	}
	return 0;
}

SEC("kprobe.multi")
int count_multi(void *ctx)
{
	return count(ctx);
}

SEC("kprobe")
int count_kprobe(void *ctx)
{
	return count(ctx);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
