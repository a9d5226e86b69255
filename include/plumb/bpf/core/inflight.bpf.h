/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * inflight: the maps with the state of each thread.  The including file defines PLUMB_THREAD as the
 * struct of that state: inflight-slots.bpf.h, frames.bpf.h or a tool.  With it, or with
 * inflight-one.bpf.h, comes
 *
 *	__u32 inflight_clear(PLUMB_THREAD *, struct task_struct *)
 *
 * which ends the calls that the thread is inside, and returns their number; the state may be NULL.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>

#ifndef PLUMB_THREAD
#error "PLUMB_THREAD: the struct of a thread's state"
#endif

/* The kernel frees a thread's entry at its exit.  Raw tracepoints may use it from 5.13 on. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, PLUMB_THREAD);
} plumb_threads SEC(".maps");

/* An entry of the hash map, with the ids of its thread for the loader. */
struct plumb_thread_kept {
	PLUMB_THREAD thread;
	__u32 pid, tid;
};

/*
 * For older kernels; preallocated, because allocating in a tracepoint can deadlock there.  The key
 * is the address of the task, since execve in a thread other than the main thread changes its tid.
 */
PLUMB_MAP(plumb_threads_by_task, HASH, 16384, __u64, struct plumb_thread_kept);

/* The current thread's state, or NULL if it has none. */
static __always_inline PLUMB_THREAD *inflight_get(struct task_struct *task)
{
	__u64 key = (__u64)task;

	if (plumb_config.task_storage)
		return bpf_task_storage_get(&plumb_threads, task, 0, 0);
	return bpf_map_lookup_elem(&plumb_threads_by_task, &key);
}

/* The same, created if missing; NULL if the map is full, which the caller counts. */
static __always_inline PLUMB_THREAD *inflight_make(struct task_struct *task)
{
	static const struct plumb_thread_kept fresh;
	struct plumb_thread_kept *kept;
	__u64 key = (__u64)task;

	if (plumb_config.task_storage)
		return bpf_task_storage_get(&plumb_threads, task, 0,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	kept = bpf_map_lookup_elem(&plumb_threads_by_task, &key);
	if (kept)
		return &kept->thread;
	bpf_map_update_elem(&plumb_threads_by_task, &key, &fresh, BPF_NOEXIST);
	kept = bpf_map_lookup_elem(&plumb_threads_by_task, &key);
	if (!kept)
		return NULL;
	kept->pid = task_pid(task);
	kept->tid = task_tid(task);
	return &kept->thread;
}

/* Frees the state of the current thread, at its exit. */
static __always_inline void inflight_drop(struct task_struct *task)
{
	__u64 key = (__u64)task;

	if (!plumb_config.task_storage)
		bpf_map_delete_elem(&plumb_threads_by_task, &key);
}

/* At the exit of the current thread, which was inside N calls. */
static __always_inline void inflight_end(struct task_struct *task, __u32 n)
{
	if (n)
		ledger_add(bpf_get_smp_processor_id(), abandoned, n);
	inflight_drop(task);
	atomic_add(&plumb_epoch, 1);
}

/* Never attached: the loader runs it once to check that thread state works on this kernel. */
SEC("raw_tp")
int state_self_test(void *ctx __attribute__((unused)))
{
	struct task_struct *task = current_task();

	return !!inflight_make(task);
}

/*
 * Writes the pid, the tid and the state of each thread, for the loader.  Loaded only before 6.9,
 * where a pidfd can refer only to a process's main thread, so that the loader cannot look up other
 * threads by pidfd.
 */
SEC("iter/task")
int thread_states(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	PLUMB_THREAD *t;
	__u32 id[2];

	t = task ? bpf_task_storage_get(&plumb_threads, task, 0, 0) : NULL;
	if (!t)
		return 0;
	id[0] = task_pid(task);
	id[1] = task_tid(task);
	bpf_seq_write(ctx->meta->seq, id, sizeof(id));
	bpf_seq_write(ctx->meta->seq, t, sizeof(*t));
	return 0;
}
