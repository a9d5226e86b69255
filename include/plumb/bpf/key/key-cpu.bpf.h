/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * key, cached by each CPU: for events without a thread state.
 *
 * The key itself is compared, so a cached slot is never out of date. A CPU's cache is written by
 * one program only, which cannot interrupt itself there. If several programs record
 * (plumb_config.interleaved), keys.bpf.h is asked each time, which has hints.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/key/keys.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>

/* The tool's own part of its key. */
#define PLUMB_KEY_OWN ((sizeof(PLUMB_KEY) - sizeof(struct plumb_who)) / 8)

#define PLUMB_REMEMBERED_BITS 5 /* cached keys per CPU, as a power of two */

struct plumb_remembered {
	__u64 comm[2], process[2]; /* as in the task: bytes after the NUL may be stale */
	__u64 id, cgroup;
	__u64 own[PLUMB_KEY_OWN];
	__u64 slot;
};

/* A global variable: its address is in the program, so no lookup is needed. */
static struct plumb_remembered plumb_remembered[PLUMB_LEDGERS << PLUMB_REMEMBERED_BITS] = {};

/* An id that no thread has, and that unwritten memory does not have either. */
#define KEY_NOBODY (1ULL << 63)

/* The place in a CPU's cache for a key. OWN is written only if the tool has a part in the key. */
static __always_inline struct plumb_remembered *key_remembered(__u64 id, __u64 cgroup,
							       const __u64 *own, __u32 cpu)
{
	const __u64 golden = 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	__u64 mix = (id ^ cgroup) * golden;
	__u32 i;

	/* A sum of products, none of which has to wait for another one. */
	if (plumb_config.by >= PLUMB_BY_TOOL)
		for (i = 0; i < PLUMB_KEY_OWN; i++)
			mix += own[i] * (golden * (2 * i + 3));
	return &plumb_remembered[ledger_index(cpu, mix >> (64 - PLUMB_REMEMBERED_BITS),
					      PLUMB_REMEMBERED_BITS)];
}

/*
 * Fill in the thread's part of a key, which is zeroed, as far as rows are grouped by it.  Names are
 * as in the task.  Returns the thread's id in the cache.
 */
static __always_inline __u64 key_current(struct plumb_who *who, struct task_struct *task, __u32 cpu)
{
	const __u64 *raw = (const __u64 *)task->comm;
	__u64 *comm = (__u64 *)who->comm;

	if (plumb_config.by & PLUMB_BY_PID)
		who->pid = current_pid(task);
	if (plumb_config.by & PLUMB_BY_TID)
		who->tid = current_tid(task);
	if (plumb_config.by & PLUMB_BY_CGROUP)
		who->cgroup = bpf_get_current_cgroup_id();
	if (plumb_config.by & PLUMB_BY_CPU)
		who->cpu = cpu;
	if (plumb_config.by & PLUMB_BY_PROCESS)
		current_process(task, (__u64 *)who->process);
	if (plumb_config.by & PLUMB_BY_COMM) {
		if (plumb_config.task_storage) {
			comm[0] = raw[0];
			comm[1] = raw[1];
		} else {
			bpf_get_current_comm(who->comm, sizeof(who->comm));
		}
	}
	return KEY_NOBODY | who->pid | (__u64)who->tid << 32;
}

/* What is after the NUL of a name would be another key. */
static __always_inline void key_trim(struct plumb_who *who)
{
	if (plumb_config.by & PLUMB_BY_COMM)
		name_trim((__u64 *)who->comm, 2);
	if (plumb_config.by & PLUMB_BY_PROCESS)
		name_trim((__u64 *)who->process, 2);
}

static __always_inline __u64 key_differs(const struct plumb_remembered *r, __u64 id,
					 const struct plumb_who *who, const __u64 *own)
{
	const __u64 *comm = (const __u64 *)who->comm, *process = (const __u64 *)who->process;
	__u64 differs = (r->id ^ id) | (r->cgroup ^ who->cgroup) | (r->comm[0] ^ comm[0]) |
			(r->comm[1] ^ comm[1]) | (r->process[0] ^ process[0]) |
			(r->process[1] ^ process[1]);
	__u32 i;

	if (plumb_config.by >= PLUMB_BY_TOOL)
		for (i = 0; i < PLUMB_KEY_OWN; i++)
			differs |= r->own[i] ^ own[i];
	return differs;
}

/* Put a key whose names are as in the task, and whose slot is not known yet, in the cache. */
static __always_inline void key_remember(struct plumb_remembered *r, const struct plumb_who *who,
					 const __u64 *own)
{
	const __u64 *comm = (const __u64 *)who->comm, *process = (const __u64 *)who->process;
	__u32 i;

	r->id = 0;
	r->cgroup = who->cgroup;
	r->comm[0] = comm[0];
	r->comm[1] = comm[1];
	r->process[0] = process[0];
	r->process[1] = process[1];
	if (plumb_config.by >= PLUMB_BY_TOOL)
		for (i = 0; i < PLUMB_KEY_OWN; i++)
			r->own[i] = own[i];
}

/*
 * The slot of any key, cached or not. Not inlined: the rare case then takes no registers and no
 * stack in the common path.
 */
static __noinline __u32 key_ask(struct task_struct *task, const __u64 *own, __u32 cpu)
{
	struct plumb_remembered *r = NULL;
	PLUMB_KEY key = {};
	struct plumb_who *who = (struct plumb_who *)&key;
	__u64 *words = (__u64 *)(who + 1);
	__u64 id = key_current(who, task, cpu);
	__u32 slot, i;

	if (!plumb_config.interleaved) {
		r = key_remembered(id, who->cgroup, own, cpu);
		if (!key_differs(r, id, who, own))
			return r->slot;
		key_remember(r, who, own);
	}
	key_trim(who);
	if (plumb_config.by >= PLUMB_BY_TOOL)
		for (i = 0; i < PLUMB_KEY_OWN; i++)
			words[i] = own[i];
	if (!key_find(&key, &slot) || !r)
		return slot;
	r->id = id;
	r->slot = slot;
	return slot;
}

/*
 * The slot of KEY, in which the tool has filled in its own part; this function adds the thread's
 * part.
 */
static __always_inline __u32 key_cpu_slot(struct task_struct *task, const PLUMB_KEY *key, __u32 cpu)
{
	const __u64 *comm = (const __u64 *)task->comm;
	const __u64 *own = (const __u64 *)((const struct plumb_who *)key + 1);
	__u64 id = KEY_NOBODY, differs;
	struct plumb_remembered *r;
	__u32 i;

	asm volatile("" : : "r"(own) : "memory"); /* not in registers, which are scarce */

	/* The common case, if no helper is needed to detect it: one branch. */
	if (unlikely(!plumb_config.task_storage || plumb_config.interleaved ||
		     plumb_config.pid_namespace ||
		     plumb_config.by & (PLUMB_BY_CGROUP | PLUMB_BY_PROCESS)))
		return key_ask(task, own, cpu);
	if (plumb_config.by & PLUMB_BY_PID)
		id |= (__u32)task->tgid;
	if (plumb_config.by & PLUMB_BY_TID)
		id |= (__u64)(__u32)task->pid << 32;
	r = key_remembered(id, 0, own, cpu);
	barrier_var(r); /* otherwise it is computed again for the slot */
	differs = r->id ^ id;
	if (plumb_config.by & PLUMB_BY_COMM)
		differs |= (r->comm[0] ^ comm[0]) | (r->comm[1] ^ comm[1]);
	if (plumb_config.by >= PLUMB_BY_TOOL)
		for (i = 0; i < PLUMB_KEY_OWN; i++)
			differs |= r->own[i] ^ own[i];
	if (!unlikely(differs))
		return r->slot;
	return key_ask(task, own, cpu);
}
