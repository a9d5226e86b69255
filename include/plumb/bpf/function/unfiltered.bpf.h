/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* unfiltered: all calls of the tool's functions are wanted, whatever their arguments. */
#ifndef PLUMB_UNFILTERED_BPF_H
#define PLUMB_UNFILTERED_BPF_H

#include <plumb/bpf/function/function-calls.bpf.h>

static __always_inline bool function_wanted(struct task_struct *task, __u64 target, __u64 *args)
{
	(void)task, (void)target, (void)args;
	return true;
}

#endif
