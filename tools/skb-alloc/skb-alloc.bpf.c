/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* __alloc_skb(size, ...): size is its first argument. */
#include <plumb/bpf/function/function.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/core/exit.bpf.h>

#define PLUMB_KEY struct plumb_who
#include <plumb/bpf/key/key-cpu.bpf.h>

static __always_inline void function_args(const void *ctx, enum function_hook hook, __u64 target,
					  __u64 *args)
{
	args[0] = function_arg(ctx, hook, 0);
}

static __always_inline __u32 alloc_slot(struct task_struct *task, __u32 cpu)
{
	struct plumb_who key = {};

	return key_cpu_slot(task, &key, cpu);
}

static __always_inline void function_record(struct task_struct *task, const struct function_call *c)
{
	__u32 cpu = bpf_get_smp_processor_id(), slot = alloc_slot(task, cpu);
	__u32 size = c->args[0];

	/* An allocation that returns NULL is an error. */
	hist_record(slot, cpu, size, !c->ret, false);
	hist_record(slot, cpu, c->ns, !c->ret, true);
}

/* Without --latency only the entry of the function is probed. */

#if !PLUMB_KFUNC_FORM

static __always_inline int count(__u32 size)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();

	if (filter_thread(task) && filter_entry(task))
		hist_record(alloc_slot(task, cpu), cpu, size, 0, false);
	return 0;
}

SEC("fentry")
int count_fentry(__u64 *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = {};

	function_get_args(ctx, FUNCTION_CTX, 0, args);
	if (guard_enter()) {
		count(args[0]);
		guard_leave();
	}
	return 0;
}

SEC("kprobe.multi")
int count_multi(struct pt_regs *ctx)
{
	return count(PT_REGS_PARM1(ctx));
}

SEC("kprobe")
int count_kprobe(struct pt_regs *ctx)
{
	return count(PT_REGS_PARM1(ctx));
}

#endif

char LICENSE[] SEC("license") = "Dual BSD/GPL";
