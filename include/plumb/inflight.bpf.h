/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inflight: where the state of a thread is kept.  What it is, struct
 * plumb_thread, is said by who includes this: seats.bpf.h or frames.bpf.h.
 */
#ifndef PLUMB_INFLIGHT_BPF_H
#define PLUMB_INFLIGHT_BPF_H

#include <plumb/current.bpf.h>

/* Freed by the kernel with its thread.  Raw tracepoints may use it from 5.13. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct plumb_thread);
} plumb_threads SEC(".maps");

/*
 * For older kernels; preallocated, because allocating in a tracepoint can
 * deadlock there.  The key is the address of the task, since a tid changes when
 * another thread than the first calls execve.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct plumb_thread);
} plumb_threads_by_task SEC(".maps");

/* The current thread's state, or NULL if it has none. */
static __always_inline struct plumb_thread *inflight_get(struct task_struct *task)
{
	__u64 key = (__u64)task;

	if (plumb_config.task_storage)
		return bpf_task_storage_get(&plumb_threads, task, 0, 0);
	return bpf_map_lookup_elem(&plumb_threads_by_task, &key);
}

/* The same, made if need be; NULL when there is no room, which the caller counts. */
static __always_inline struct plumb_thread *inflight_make(struct task_struct *task)
{
	static const struct plumb_thread fresh;
	__u64 key = (__u64)task;
	struct plumb_thread *t;

	if (plumb_config.task_storage)
		return bpf_task_storage_get(&plumb_threads, task, 0,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	t = bpf_map_lookup_elem(&plumb_threads_by_task, &key);
	if (t)
		return t;
	bpf_map_update_elem(&plumb_threads_by_task, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&plumb_threads_by_task, &key);
}

/* Call when the current thread dies. */
static __always_inline void inflight_drop(struct task_struct *task)
{
	__u64 key = (__u64)task;

	if (!plumb_config.task_storage)
		bpf_map_delete_elem(&plumb_threads_by_task, &key);
}

#endif
