/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * current: who runs now, asked once an event.
 *
 * Where there is task storage there are typed task pointers as well, and a load
 * is cheaper than a helper's call (8 ns, measured with the Safe RET mitigation).
 */
#ifndef PLUMB_CURRENT_BPF_H
#define PLUMB_CURRENT_BPF_H

#include <plumb/bpf/core/common.bpf.h>

/* The current task; to be dereferenced only with task_storage. */
static __always_inline struct task_struct *current_task(void)
{
	if (plumb_config.task_storage)
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

/* A field of it. */
#define current_read(task, field)                                                                  \
	(plumb_config.task_storage ? (task)->field : BPF_CORE_READ(task, field))

static __always_inline __u32 current_pid(struct task_struct *task)
{
	return plumb_config.task_storage ? task->tgid : bpf_get_current_pid_tgid() >> 32;
}

static __always_inline __u32 current_tid(struct task_struct *task)
{
	return plumb_config.task_storage ? task->pid : (__u32)bpf_get_current_pid_tgid();
}

/* The name of its process's main thread.  What follows the NUL may be stale. */
static __always_inline void current_process(struct task_struct *task, __u64 name[2])
{
	struct task_struct *main = current_read(task, group_leader);

	name[0] = name[1] = 0;
	bpf_core_read(name, 2 * sizeof(*name), &main->comm);
}

/*
 * A thread's user registers lie at the top of its kernel stack, and a raw
 * tracepoint of system calls passes their address: it identifies the thread at no
 * cost until some thread exits.  What is kept by that address is therefore kept
 * with this count, which rises when a thread exits, and where filters depend on
 * names or cgroups also when a thread's changes.
 */
__u64 plumb_epoch = 0;

#endif
