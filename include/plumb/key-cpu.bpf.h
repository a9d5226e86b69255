/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * key, remembered by each CPU: for events without a state of their thread's.
 *
 * The key itself is compared, so nothing that is remembered can be out of date.
 * A CPU's memory is written by one program only, and that cannot interrupt
 * itself there; where several record (plumb_config.interleaved) none is kept.
 */
#ifndef PLUMB_KEY_CPU_BPF_H
#define PLUMB_KEY_CPU_BPF_H

#include <plumb/current.bpf.h>
#include <plumb/keys.bpf.h>
#include <plumb/ledger.bpf.h>

/* The tool's own part of its key. */
#define PLUMB_KEY_OWN ((sizeof(PLUMB_KEY) - sizeof(struct plumb_who)) / 8)

#define PLUMB_REMEMBERED_BITS 5 /* keys a CPU */

struct plumb_remembered {
	__u64 comm[2]; /* as in the task: what follows the NUL may be stale */
	__u64 id, cgroup;
	__u64 own[PLUMB_KEY_OWN];
	__u64 slot;
};

/* A global variable: its address is in the program, nothing is looked up. */
static struct plumb_remembered plumb_remembered[PLUMB_LEDGERS << PLUMB_REMEMBERED_BITS] = {};

/* Who, in the parts that are grouped by.  An id of nobody is none of memory never written. */
struct key_who {
	__u64 id, cgroup, comm[2];
};
#define KEY_NOBODY (1ULL << 63)

static __always_inline struct key_who key_current(struct task_struct *task)
{
	struct key_who w = {.id = KEY_NOBODY};
	__u64 comm[2] = {};

	if (plumb_config.by & PLUMB_BY_PID)
		w.id |= current_pid(task);
	if (plumb_config.by & PLUMB_BY_TID)
		w.id |= (__u64)current_tid(task) << 32;
	if (plumb_config.by & PLUMB_BY_CGROUP)
		w.cgroup = bpf_get_current_cgroup_id();
	if (plumb_config.by & PLUMB_BY_COMM) {
		if (plumb_config.task_storage) {
			const __u64 *raw = (const __u64 *)task->comm;

			w.comm[0] = raw[0];
			w.comm[1] = raw[1];
		} else {
			bpf_get_current_comm(comm, sizeof(comm));
			w.comm[0] = comm[0];
			w.comm[1] = comm[1];
		}
	}
	return w;
}

static __always_inline struct plumb_remembered *key_remembered(const struct key_who *w,
							       const __u64 *own, __u32 cpu)
{
	__u64 mix = w->id;
	__u32 i;

	if (plumb_config.by & PLUMB_BY_CGROUP)
		mix ^= w->cgroup;
	if (plumb_config.by >= PLUMB_BY_TOOL)
		for (i = 0; i < PLUMB_KEY_OWN; i++)
			mix = (mix ^ own[i]) * 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	else
		mix *= 0x9e3779b97f4a7c15ULL;
	return &plumb_remembered[ledger_index(cpu, mix >> (64 - PLUMB_REMEMBERED_BITS),
					      PLUMB_REMEMBERED_BITS)];
}

/* Is it this key?  One branch, for what is nearly always so. */
static __always_inline bool key_is(const struct plumb_remembered *r, const struct key_who *w,
				   const __u64 *own)
{
	__u64 differs = r->id ^ w->id;
	__u32 i;

	if (plumb_config.by & PLUMB_BY_COMM)
		differs |= (r->comm[0] ^ w->comm[0]) | (r->comm[1] ^ w->comm[1]);
	if (plumb_config.by & PLUMB_BY_CGROUP)
		differs |= r->cgroup ^ w->cgroup;
	if (plumb_config.by >= PLUMB_BY_TOOL)
		for (i = 0; i < PLUMB_KEY_OWN; i++)
			differs |= r->own[i] ^ own[i];
	return !differs;
}

/* The slot of a key, looked up; who is in W, the rest in OWN. */
static __always_inline bool key_find_who(const struct key_who *w, const __u64 *own, __u32 cpu,
					 __u32 *slot)
{
	PLUMB_KEY key = {
		.who = {.pid = w->id, .tid = (w->id & ~KEY_NOBODY) >> 32, .cgroup = w->cgroup}};
	__u64 *words = (__u64 *)(&key.who + 1);
	__u64 raw[2] = {w->comm[0], w->comm[1]};
	const char *comm = (const char *)raw;
	__u32 i;

	if (plumb_config.by & PLUMB_BY_CPU)
		key.who.cpu = cpu;
	for (i = 0; i < PLUMB_COMM_LEN && comm[i]; i++)
		key.who.comm[i] = comm[i];
	for (i = 0; i < PLUMB_KEY_OWN; i++)
		words[i] = own[i];
	return key_find(&key, slot);
}

/* The slot of KEY, of which the tool has filled in its own part; this adds who. */
static __always_inline __u32 key_cpu_slot(struct task_struct *task, const PLUMB_KEY *key, __u32 cpu)
{
	const __u64 *own = (const __u64 *)(&key->who + 1);
	struct key_who w = key_current(task);
	struct plumb_remembered *r = NULL;
	__u32 slot, i;

	if (!plumb_config.interleaved) {
		r = key_remembered(&w, own, cpu);
		if (key_is(r, &w, own))
			return r->slot;
	}
	/* Asked again: not kept in registers for what is seldom needed. */
	barrier();
	w = key_current(task);
	if (!key_find_who(&w, own, cpu, &slot) || !r)
		return slot;
	r->id = w.id;
	r->cgroup = w.cgroup;
	r->comm[0] = w.comm[0];
	r->comm[1] = w.comm[1];
	for (i = 0; i < PLUMB_KEY_OWN; i++)
		r->own[i] = own[i];
	r->slot = slot;
	return slot;
}

#endif
