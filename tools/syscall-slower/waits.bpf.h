/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waits: what happened while the thread of a call waited for a CPU, also on its way out: of all
 * waits of the call, the largest sums.  Calls that never wait have none, nor anything to do with
 * this.
 */
#pragma once

#include <plumb/bpf/sched/meanwhile.bpf.h>
#include "syscall-slower.h"

/* By task: of its last call that waited. */
PLUMB_MAP(slow_waiting, LRU_HASH, 4096 /* the loader: more, for many CPUs */, __u64,
	  struct slow_waits);

static const struct slow_waits no_waits;

/* The current thread waits in a call, or on its way out of that. */
static __always_inline void waits_begin(struct call_thread *t)
{
	__u64 key = (__u64)bpf_get_current_task();
	struct slow_waits *waits;
	__u32 i;

	if (t->own.waited)
		return;
	t->own.waited = 1;
	waits = bpf_map_lookup_elem(&slow_waiting, &key);
	if (!waits)
		bpf_map_update_elem(&slow_waiting, &key, &no_waits, BPF_ANY);
	for (i = 0; waits && i < SLOW_WAITS; i++)
		waits->all[i].ns = 0;
}

/*
 * The smallest sum makes room for one that is larger, and gets smaller by one that is not: so a
 * thread that has the CPU often for a little while has a sum in the end, and no sum is too large.
 */
static __always_inline void meanwhile_add(struct plumb_meanwhile *key, __u64 ns)
{
	__u64 task = meanwhile_waiter();
	struct slow_waits *waits = bpf_map_lookup_elem(&slow_waiting, &task);
	struct slow_wait *least, *one;
	__u32 i;

	if (!waits)
		return;
	if (key->kind == PLUMB_MEANWHILE_WAITER) {
		waits->all[0].ns += ns;
		waits->all[0].who = *key;
		return;
	}
	least = &waits->all[1];
	for (i = 1; i < SLOW_WAITS; i++) {
		one = &waits->all[i];
		if (one->ns && one->who.kind == key->kind && one->who.tid == key->tid &&
		    one->who.nice == key->nice && one->who.cgroup == key->cgroup) {
			one->ns += ns;
			return;
		}
		if (one->ns < least->ns)
			least = one;
	}
	if (least->ns > ns) {
		least->ns -= ns;
		return;
	}
	least->ns = ns;
	least->who = *key;
}

/* Those of the thread of TASK. */
static __always_inline void waits_copy(struct slow_waits *to, __u64 task)
{
	const struct slow_waits *waits = bpf_map_lookup_elem(&slow_waiting, &task);

	to->all[0].ns = 0;
	if (waits)
		bpf_probe_read_kernel(to, sizeof(*to), waits);
}
