/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * key, for threads with a state of inflight-slots.bpf.h: a slot is looked up once per thread and
 * key, and then cached in the thread's state.
 */
#pragma once

#include <plumb/bpf/key/keys.bpf.h>
#include <plumb/bpf/core/inflight-slots.bpf.h>

/* Discard the cached slots of a thread whose name, cgroup or tid changed. */
static __always_inline void key_forget(struct call_thread *t)
{
	int i;

	for (i = 0; i < PLUMB_CACHED_SLOTS; i++)
		t->cached[i].valid = 0;
}

/*
 * Update the parts of the key that can change between two calls. Called at entry: a call is
 * recorded under the name that its thread had then, also execve.
 */
static __always_inline void key_refresh(struct call_thread *t, struct task_struct *task)
{
	__u64 comm[2] = {}, process[2], cgroup, tid;

	if (plumb_config.by & PLUMB_BY_COMM) {
		if (plumb_config.task_storage) {
			/* Two loads, not a helper call. Bytes after the NUL may be stale. */
			const __u64 *raw = (const __u64 *)task->comm;

			comm[0] = raw[0];
			comm[1] = raw[1];
		} else {
			bpf_get_current_comm(comm, sizeof(comm));
		}
		if (comm[0] != t->comm[0] || comm[1] != t->comm[1]) {
			t->comm[0] = comm[0];
			t->comm[1] = comm[1];
			key_forget(t);
		}
	}
	if (plumb_config.by & PLUMB_BY_PROCESS) {
		current_process(task, process);
		if (process[0] != t->process[0] || process[1] != t->process[1]) {
			t->process[0] = process[0];
			t->process[1] = process[1];
			key_forget(t);
		}
	}
	if (plumb_config.by & PLUMB_BY_TID) {
		tid = current_tid(task);
		if (tid != t->tid) {
			t->tid = tid;
			key_forget(t);
		}
	}
	if (plumb_config.by & PLUMB_BY_CGROUP) {
		cgroup = bpf_get_current_cgroup_id();
		if (cgroup != t->cgroup) {
			t->cgroup = cgroup;
			key_forget(t);
		}
	}
}

static __always_inline struct plumb_cached_slot *key_cached(struct call_thread *t, __u64 var)
{
	/* Multiplying by a 64-bit golden ratio spreads neighbours (Knuth, vol. 3, 6.4). */
	return &t->cached[(var * 0x9e3779b97f4a7c15ULL) >> 61];
}
_Static_assert(PLUMB_CACHED_SLOTS == 1 << (64 - 61), "key_cached takes the top bits");

static __always_inline void key_who(struct plumb_who *who, const struct call_thread *t,
				    struct task_struct *task, __u32 cpu)
{
	const char *comm = (const char *)t->comm, *process = (const char *)t->process;
	int i;

	if (plumb_config.by & PLUMB_BY_PID)
		who->pid = current_pid(task);
	if (plumb_config.by & PLUMB_BY_TID)
		who->tid = current_tid(task);
	if (plumb_config.by & PLUMB_BY_CGROUP)
		who->cgroup = t->cgroup;
	if (plumb_config.by & PLUMB_BY_CPU)
		who->cpu = cpu;
	if (plumb_config.by & PLUMB_BY_COMM)
		for (i = 0; i < PLUMB_COMM_LEN && comm[i]; i++)
			who->comm[i] = comm[i];
	if (plumb_config.by & PLUMB_BY_PROCESS)
		for (i = 0; i < PLUMB_COMM_LEN && process[i]; i++)
			who->process[i] = process[i];
}

/* The slot of KEY, cached in CACHED. */
static __always_inline __u32 key_slot(struct plumb_cached_slot *cached, __u64 var,
				      const PLUMB_KEY *key)
{
	__u32 slot;

	if (!key_find(key, &slot))
		return 0;
	cached->var = var;
	cached->slot = slot;
	cached->valid = 1;
	return slot;
}
