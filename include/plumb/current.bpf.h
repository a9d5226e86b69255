/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * current: who runs now, asked once an event.
 *
 * Where there is task storage there are typed task pointers as well, and a load
 * is cheaper than a helper's call.
 */
#ifndef PLUMB_CURRENT_BPF_H
#define PLUMB_CURRENT_BPF_H

#include <plumb/common.bpf.h>

struct plumb_current {
	struct task_struct *task; /* may be dereferenced only with task_storage */
	__u32 pid, tid;
};

static __always_inline struct plumb_current current_get(void)
{
	struct plumb_current c;
	__u64 id;

	if (plumb_config.task_storage) {
		c.task = bpf_get_current_task_btf();
		c.pid = c.task->tgid;
		c.tid = c.task->pid;
	} else {
		c.task = (struct task_struct *)bpf_get_current_task();
		id = bpf_get_current_pid_tgid();
		c.pid = id >> 32;
		c.tid = (__u32)id;
	}
	return c;
}

/* A field of the current task.  (A relocation must not begin at our own struct.) */
#define current_read(c, field)                                                                     \
	({                                                                                         \
		struct task_struct *__task = (c)->task;                                            \
		plumb_config.task_storage ? __task->field : BPF_CORE_READ(__task, field);          \
	})

#endif
