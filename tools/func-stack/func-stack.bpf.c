/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/bpf/function/trace-targets.bpf.h>
#include <plumb/bpf/stack/stacks.bpf.h>
#include <plumb/bpf/core/totals.bpf.h>

const volatile __u8 targets_with_caller = 0; /* user targets are first instructions */

/* Where the user function returns to, at its first instruction; 0: not known. */
static __always_inline __u64 targets_caller(struct pt_regs *ctx)
{
	enum { USER32_CS = 0x23 }; /* arch/x86/include/asm/segment.h */
	__u64 caller = 0;

	if (!targets_with_caller)
		return 0;
#if defined(__TARGET_ARCH_arm64)
	caller = ctx->regs[30];
#else
	if (ctx->cs == USER32_CS)
		bpf_probe_read_user(&caller, 4, (void *)ctx->sp);
	else
		bpf_probe_read_user(&caller, 8, (void *)ctx->sp);
#endif
	return caller;
}

/* Count only while all targets are attached, so that all are counted for the same time. */
static __always_inline bool fired(void *ctx, __u64 target, bool user,
				  bool guarded __attribute__((unused)))
{
	struct task_struct *task = current_task();
	struct plumb_totals *totals;
	__u32 cpu, what = 0;

	if (!plumb_live || !filter_thread(task) || !filter_entry(task))
		return false;
	cpu = bpf_get_smp_processor_id();
	if (plumb_config.by & PLUMB_BY_TARGET)
		what = PLUMB_TARGET_INDEX(target);
	totals = totals_of(stack_slot_from(ctx, task, cpu, what, user ? targets_caller(ctx) : 0),
			   cpu);
	if (totals)
		plumb_add(totals->count, 1);
	return true;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
