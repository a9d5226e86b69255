/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * frames of user functions: when a call is over whose return was not seen.
 *
 * The place of a call is the stack pointer at its entry. The kernel drops the return of a call as
 * soon as a call begins at a higher place (longjmp() or an exception has ended the first one), and
 * so do these. Like the kernel's own uretprobes, this assumes that a thread has one stack: a signal
 * stack has to be below the stack on which the signal arrives.
 */
#ifndef PLUMB_FRAMES_USER_BPF_H
#define PLUMB_FRAMES_USER_BPF_H

/* Their threads left the calls without returning from them. */
#define frames_left        abandoned
#define frames_left_nested abandoned

static __always_inline bool frame_is_within(const struct plumb_frame *f, __u64 place)
{
	return f->place && f->place <= place;
}

/*
 * Whether the call that begins at PLACE returns to where the kernel has its return probes: it was
 * entered by a jump from another traced call, and both end together.
 */
static __always_inline bool frame_is_chained(__u64 place)
{
#if defined(PLUMB_GO)
	(void)place; /* no function that ends in a jump is traced, and there are no return probes */
	return false;
#elif defined(__TARGET_ARCH_x86)
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr), to = 0;

	bpf_probe_read_user(&to, sizeof(to), (void *)place);
	if (trampoline == (__u32)trampoline) /* of a 32-bit process */
		to = (__u32)to;
	return to == trampoline;
#else
	struct user_pt_regs *regs; /* the return address is in a register */
	struct task_struct *task;
	__u64 to = 0;

	(void)place;
	/* Kernels before 5.15 do not give the registers: such calls are not distinguished there. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return false;
	task = bpf_get_current_task_btf();
	regs = (struct user_pt_regs *)bpf_task_pt_regs(task);
	bpf_probe_read_kernel(&to, sizeof(to), &regs->regs[30]);
	return to == BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
#endif
}

/* Whether F, at PLACE or deeper, was left behind, when a call begins there. */
static __always_inline bool frame_is_over(const struct plumb_frame *f, __u64 place, __u64 target)
{
	(void)target;
	return f->place != place || !frame_is_chained(place);
}

/*
 * A child of fork() returns from the calls that its parent was inside: no calls of its own.  (A new
 * thread of Go takes over goroutines that began calls before, a new process does not.)
 */
static __always_inline bool frames_are_inherited(struct task_struct *task)
{
#if defined(PLUMB_PAIRS)
	(void)task;
	return false; /* a DONE is no return */
#elif defined(PLUMB_GO)
	return BPF_CORE_READ(task, group_leader, start_time) > function_config.since;
#else
	return BPF_CORE_READ(task, start_time) > function_config.since;
#endif
}

#endif
