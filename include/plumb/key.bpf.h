/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * key, BPF face: from who and what to a slot number.
 *
 * A slot is asked for once per thread and key; afterwards the thread's state
 * knows it.  Slots are never freed.  Slot 0 is [other], for the keys beyond
 * --max-keys.
 *
 * A tool defines its key's struct as PLUMB_KEY before it includes this file.
 */
#ifndef PLUMB_KEY_BPF_H
#define PLUMB_KEY_BPF_H

#include <plumb/common.bpf.h>
#include <plumb/inflight.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the loader: --max-keys */
	__type(key, PLUMB_KEY);
	__type(value, __u32);
} plumb_keys SEC(".maps");

/*
 * The slots not yet given away, filled by the loader.  A queue, because handing
 * out numbers with an atomic counter takes a fetching add, which 5.10 lacks.
 */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* set by the loader: --max-keys */
	__type(value, __u32);
} plumb_free_slots SEC(".maps");

/* Forget the slots of a thread whose name, cgroup or tid changed. */
static __always_inline void key_forget(struct plumb_thread *t)
{
	int i;

	for (i = 0; i < PLUMB_CACHED_SLOTS; i++)
		t->cached[i].valid = 0;
}

/*
 * Keep up with the parts of the key that can change between two calls.  Call
 * at entry: a call belongs to the name under which it was made, also execve.
 */
static __always_inline void key_refresh(struct plumb_thread *t, struct task_struct *task)
{
	__u64 comm[2] = {}, cgroup, tid;

	if (plumb_config.by & PLUMB_BY_COMM) {
		if (plumb_config.task_storage) {
			/* Two loads, not a call.  What follows the NUL may be stale. */
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

static __always_inline struct plumb_cached_slot *key_cached(struct plumb_thread *t, __u64 var)
{
	/* Multiplying by a 64-bit golden ratio spreads neighbours (Knuth, vol. 3, 6.4). */
	return &t->cached[(var * 0x9e3779b97f4a7c15ULL) >> 61];
}
_Static_assert(PLUMB_CACHED_SLOTS == 1 << (64 - 61), "key_cached takes the top bits");

static __always_inline void key_who(struct plumb_who *who, const struct plumb_thread *t,
				    struct task_struct *task, __u32 cpu)
{
	const char *comm = (const char *)t->comm;
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
}

/* The slot of KEY, a new one if it has none; 0 when all are taken. */
static __always_inline __u32 key_slot(struct plumb_cached_slot *cached, __u64 var,
				      const PLUMB_KEY *key)
{
	__u32 *known, slot = 0;

	known = bpf_map_lookup_elem(&plumb_keys, key);
	if (!known && !bpf_map_pop_elem(&plumb_free_slots, &slot)) {
		if (bpf_map_update_elem(&plumb_keys, key, &slot, BPF_NOEXIST)) {
			/* Another CPU was first.  Or the table was busy (6.1): [other], once. */
			bpf_map_push_elem(&plumb_free_slots, &slot, BPF_ANY);
			known = bpf_map_lookup_elem(&plumb_keys, key);
			if (!known)
				return 0;
		}
	}
	if (known)
		slot = *known;
	cached->var = var;
	cached->slot = slot;
	cached->valid = 1;
	return slot;
}

#endif
