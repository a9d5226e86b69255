/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * holder: the owner of a lock that a wait is reported with: the first one that is known.
 */
#pragma once

#include <plumb/bpf/sched/registers.bpf.h>
#include "lock-latency.h"

/* The system call of another thread: its registers are where the current one's are. */
static __always_inline __u32 holder_call(struct task_struct *task)
{
	const struct pt_regs *own = return_registers(current_task()), *regs;
	__u64 at = 0;

	if (BPF_CORE_READ(task, flags) & PF_KTHREAD)
		return 0;
	bpf_probe_read_kernel(&at, sizeof(at), &own); /* for the verifier a number */
	at -= (__u64)BPF_CORE_READ(current_task(), stack);
	regs = (void *)BPF_CORE_READ(task, stack) + at;
#if defined(__TARGET_ARCH_x86)
	if ((long)BPF_CORE_READ(regs, orig_ax) < 0 || (int)BPF_CORE_READ(regs, ax) != -38)
		return 0;
	return BPF_CORE_READ(regs, orig_ax) + 1;
#else
	if (BPF_CORE_READ(regs, syscallno) < 0)
		return 0;
	return BPF_CORE_READ(regs, syscallno) + 1;
#endif
}

static __always_inline void holder_fill(struct lock_holder *h, struct task_struct *task)
{
	h->pid = task_pid(task);
	h->tid = task_tid(task);
	bpf_probe_read_kernel_str(h->comm, sizeof(h->comm), &task->comm);
	if (plumb_config.by & LOCK_BY_DOING)
		h->call = holder_call(task);
}

/* The lock is held by OWNER, or SHARED by readers, when the wait W begins; 0: not known. */
static __noinline int holder_begins(struct lock_wait *w, __u64 owner, bool shared)
{
	if (!w || owner == w->task)
		return 0;
	w->known = owner || shared;
	w->held.shared = shared;
	if (owner && !shared)
		holder_fill(&w->held, (struct task_struct *)owner);
	return 0;
}
