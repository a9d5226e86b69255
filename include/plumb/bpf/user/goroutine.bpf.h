/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * goroutine: the calls of Go functions.  Their state is that of a goroutine, since it may go on in
 * another thread inside a call.
 *
 * Go's internal ABI (cmd/compile/abi-internal.md in its sources) has the current goroutine in R14
 * on x86-64, and in R28 on arm64, at the entry and the return of each function that the compiler
 * made.  The goroutine's struct begins with the bounds of its stack.  A stack that grows is copied
 * to the upper end of a larger one: so the place of a call is its distance from that end.
 */
#ifndef PLUMB_GOROUTINE_BPF_H
#define PLUMB_GOROUTINE_BPF_H

#include <plumb/bpf/function/function-args.bpf.h>
#include <plumb/bpf/function/function-calls.bpf.h>
#include <plumb/bpf/user/by-id.bpf.h>
#include <plumb/bpf/user/goroutine.h>

#if defined(__TARGET_ARCH_x86)
#define GO_GOROUTINE(ctx) ((ctx)->r14)
#else
#define GO_GOROUTINE(ctx) (((const struct user_pt_regs *)(ctx))->regs[28])
#endif

/* Finds the current goroutine, and the place of the call.  False: its struct cannot be read. */
static __always_inline bool goroutine_current(const struct pt_regs *ctx, struct task_struct *task,
					      struct plumb_id *which, __u64 *place)
{
	__u64 upper_end = 0, address = GO_GOROUTINE(ctx);

	if (function_config.calibration) /* calls of a C function: any readable address does */
		address = PT_REGS_SP(ctx);
	*which = by_id_of(task, address);
	if (bpf_probe_read_user(&upper_end, sizeof(upper_end),
				(void *)(address + sizeof(upper_end))))
		return false;
	*place = PT_REGS_SP(ctx) - upper_end;
	return true;
}

static __always_inline void goroutine_entered(__u64 target, const struct pt_regs *ctx)
{
	__u64 args[PLUMB_FUNCTION_ARGS] = {}, place;
	struct task_struct *task = current_task();
	struct plumb_thread_kept *kept = NULL;
	struct plumb_id which;

	function_get_args(ctx, FUNCTION_GO_REGISTERS, target, args);
	if (!filter_thread(task) || !function_begins(task, target, args))
		return;
	if (goroutine_current(ctx, task, &which, &place))
		kept = by_id_make(&which, task);
	function_push_in(kept ? &kept->thread : NULL, target, place, args, NULL);
}

/* The thread may be another than at the entry, where the filters were applied. */
static __always_inline void goroutine_returns(__u64 target, const struct pt_regs *ctx, long ret)
{
	struct function_call c = {.target = target, .ret = ret};
	struct task_struct *task = current_task();
	struct plumb_thread_kept *kept = NULL;
	__u64 now = bpf_ktime_get_ns(), place;
	struct plumb_id which;

	if (goroutine_current(ctx, task, &which, &place))
		kept = by_id_get(&which);
	if (!kept || !function_pop_from(&kept->thread, task, &c, place, now, NULL)) {
		if (filter_thread(task))
			function_unmatched(task, target, NULL);
		return;
	}
	by_id_drop(&which, kept);
}

/*
 * At runtime.goexit1, where each goroutine ends.  Calls that it is inside were left by a panic that
 * a function around them recovered, or by runtime.Goexit().
 */
static __always_inline void goroutine_over(const struct pt_regs *ctx)
{
	struct task_struct *task = current_task();
	struct plumb_id which;
	struct plumb_thread_kept *kept;
	__u64 place;

	if (!goroutine_current(ctx, task, &which, &place))
		return;
	kept = by_id_get(&which);
	if (!kept)
		return;
	if (kept->thread.depth)
		ledger_add(bpf_get_smp_processor_id(), abandoned, kept->thread.depth);
	bpf_map_delete_elem(&plumb_states_by_id, &which);
}

SEC("uprobe")
int goroutine_end(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	goroutine_over(ctx);
	return 0;
}

#endif
