/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* by id, BPF side: the states of calls that may begin in one thread and end in another. */
#pragma once

#include <plumb/bpf/function/frames.bpf.h>
#include <plumb/bpf/user/by-id.h>

/* Those that are inside a call.  Those of a process that has ended are removed by the loader. */
PLUMB_MAP(plumb_states_by_id, HASH, 8192, struct plumb_id, struct plumb_thread_kept);

static __always_inline struct plumb_id by_id_of(struct task_struct *task, __u64 id)
{
	return (struct plumb_id){
		.id = id,
		.pid = current_pid(task),
		.image = PLUMB_IMAGE(BPF_CORE_READ(task, mm, start_stack)),
	};
}

static __always_inline struct plumb_thread_kept *by_id_get(const struct plumb_id *which)
{
	return bpf_map_lookup_elem(&plumb_states_by_id, which);
}

/* The same, created if missing; NULL if the map is full, which the caller counts. */
static __always_inline struct plumb_thread_kept *by_id_make(const struct plumb_id *which,
							    struct task_struct *task)
{
	static const struct plumb_thread_kept fresh;
	struct plumb_thread_kept *kept = by_id_get(which);

	if (kept)
		return kept;
	bpf_map_update_elem(&plumb_states_by_id, which, &fresh, BPF_NOEXIST);
	kept = by_id_get(which);
	if (kept) {
		kept->pid = which->pid;
		kept->tid = current_tid(task);
	}
	return kept;
}

/* Frees the state, unless it is inside a call. */
static __always_inline void by_id_drop(const struct plumb_id *which,
				       const struct plumb_thread_kept *kept)
{
	if (!kept->thread.depth && !kept->thread.deeper)
		bpf_map_delete_elem(&plumb_states_by_id, which);
}
