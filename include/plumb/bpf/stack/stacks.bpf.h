/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stacks, BPF side: slots of keys that are stacks. */
#pragma once

#include <plumb/bpf/stack/stack.bpf.h>

#define PLUMB_KEY struct plumb_stack_key
#include <plumb/bpf/key/key-cpu.bpf.h>

/* The slot of the current thread's stacks; WHAT is the tool's, CALLER as for stack_of(). */
static __always_inline __u32 stack_slot_from(void *ctx, struct task_struct *task, __u32 cpu,
					     __u32 what, __u64 caller)
{
	struct plumb_stack_key key = {.what = what};

	key.kernel = stack_number(ctx, 0, cpu);
	key.user = stack_user_from(ctx, task, cpu, caller, &key.tgid);
	return key_cpu_slot(task, &key, cpu);
}

static __always_inline __u32 stack_slot(void *ctx, struct task_struct *task, __u32 cpu, __u32 what)
{
	return stack_slot_from(ctx, task, cpu, what, 0);
}
