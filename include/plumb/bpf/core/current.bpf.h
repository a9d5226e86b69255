/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * current: the current task, read once per event.
 *
 * Kernels with task storage also have typed task pointers; a load is cheaper than a helper call
 * (8 ns, measured with the Safe RET mitigation).
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>

/* The current task; may be dereferenced only if plumb_config.task_storage is set. */
static __always_inline struct task_struct *current_task(void)
{
	if (plumb_config.task_storage)
		return bpf_get_current_task_btf();
	return (struct task_struct *)bpf_get_current_task();
}

/* A field of TASK, from current_task(). */
#define current_read(task, field)                                                                  \
	(plumb_config.task_storage ? (task)->field : BPF_CORE_READ(task, field))

/* Of a thread, or of its process, in the tool's pid namespace; 0: none, it is outside. */
static __noinline __attribute__((unused)) __u32 number_in_namespace(struct task_struct *task,
								    bool of_process)
{
	struct pid *pid = of_process ? BPF_CORE_READ(task, group_leader, thread_pid)
				     : BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	const struct upid *number;

	/* From the thread's own namespace up; there are at most 32 (MAX_PID_NS_LEVEL). */
	for (int i = 0; i <= 32; i++) {
		number = (void *)pid + bpf_core_field_offset(pid->numbers) +
			 level * bpf_core_type_size(struct upid);
		if (BPF_CORE_READ(number, ns, ns.inum) == plumb_config.pid_namespace)
			return BPF_CORE_READ(number, nr);
		if (!level--)
			break;
	}
	return 0;
}

/* The ids of any task, not only of the current one. */
static __always_inline __u32 task_pid(struct task_struct *task)
{
	return plumb_config.pid_namespace ? number_in_namespace(task, true)
					  : BPF_CORE_READ(task, tgid);
}

static __always_inline __u32 task_tid(struct task_struct *task)
{
	return plumb_config.pid_namespace ? number_in_namespace(task, false)
					  : BPF_CORE_READ(task, pid);
}

/* The current task's number in the host's pid namespace; 0: the CPU is idle. */
static __always_inline __u32 current_host_tid(struct task_struct *task)
{
	return plumb_config.task_storage ? task->pid : (__u32)bpf_get_current_pid_tgid();
}

static __always_inline __u32 current_pid(struct task_struct *task)
{
	if (plumb_config.pid_namespace)
		return number_in_namespace(task, true);
	return plumb_config.task_storage ? task->tgid : bpf_get_current_pid_tgid() >> 32;
}

static __always_inline __u32 current_tid(struct task_struct *task)
{
	return plumb_config.pid_namespace ? number_in_namespace(task, false)
					  : current_host_tid(task);
}

/*
 * Makes zeros of what is behind the end of a string of N words, which has at most 8 N - 1 bytes.
 * Without branches, each of which the verifier would follow.
 */
static __always_inline void name_trim(__u64 *name, __u32 n)
{
	const __u64 ones = 0x0101010101010101ULL, tops = 0x8080808080808080ULL;
	__u64 end, ended = 0;
	__u32 i;

	for (i = 0; i < n; i++) {
		/* The lowest byte that is 0 has its top bit set here. */
		end = (name[i] - ones) & ~name[i] & tops;
		name[i] &= ((end & -end) >> 7) - 1;
		name[i] &= ((ended | -ended) >> 63) - 1;
		ended |= end;
	}
	name[n - 1] &= ~0ULL >> 8;
}

/* The name of the process's main thread.  The bytes after the NUL may be stale. */
static __always_inline void current_process(struct task_struct *task, __u64 name[2])
{
	struct task_struct *main = current_read(task, group_leader);

	name[0] = name[1] = 0;
	bpf_core_read(name, 2 * sizeof(*name), &main->comm);
}

/*
 * The user registers of a thread are at the top of its kernel stack, and the raw tracepoints of
 * system calls pass their address, which identifies the thread at no cost until a thread exits.
 * Data keyed by that address is therefore stored together with this counter, which is incremented
 * when a thread exits and, if filters depend on names or cgroups, when a thread's changes.
 */
__u64 plumb_epoch = 0;
