/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* raw_tracepoint: every call of the machine passes here, those that are not wanted too. */
#include "handlers.bpf.h"

SEC("raw_tp/sys_enter")
int sys_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (struct pt_regs *)ctx->args[0];
	struct plumb_current now = current_get();
	__u32 nr = ctx->args[1], abi;

	if (!filter_thread(&now))
		return 0;
	abi = syscall_abi(&now);
	if (syscall_selected(nr, abi) && filter_entry(&now) && syscall_arguments_match(regs))
		enter(&now, nr, abi);
	return 0;
}

SEC("raw_tp/sys_exit")
int sys_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct plumb_current now = current_get();
	struct plumb_thread *t;

	if (!filter_thread(&now))
		return 0;
	t = inflight_get(&now);
	if (t && t->start)
		leave(t, &now, bpf_ktime_get_ns(), ctx->args[1]);
	else
		syscall_unmatched(&now, (struct pt_regs *)ctx->args[0], ctx->args[1]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
