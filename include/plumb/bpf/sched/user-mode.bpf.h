/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* user-mode, BPF side: a number that changes when a thread returns to user mode. */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/sched/user-mode.h>

struct task_struct___shifted {
	__u32 kstack_offset;
} __attribute__((preserve_access_index));

/* Whether each thread has its own number: else it is the CPU's. */
static __always_inline bool user_mode_is_of_thread(void)
{
	return bpf_core_field_exists(((struct task_struct___shifted *)0)->kstack_offset);
}

/*
 * Of TASK, which has this CPU or gets it now.  Inlined into the programs themselves, in which the
 * loader sets the variable (as waker_variable()).
 */
static __always_inline __u32 user_mode_mark(struct task_struct *task)
{
	struct task_struct___shifted *shifted = (struct task_struct___shifted *)task;
	const void *variable;

	if (user_mode_is_of_thread())
		return BPF_CORE_READ(shifted, kstack_offset);
	asm("%0 = %1 ll" : "=r"(variable) : "i"(PLUMB_USER_MODE_UNSET));
	return *(__u32 *)bpf_this_cpu_ptr(variable);
}

/* Never attached: the loader runs it to check that the number changes. */
SEC("raw_tp")
int user_mode_self_test(void *ctx __attribute__((unused)))
{
	return user_mode_mark(current_task());
}
