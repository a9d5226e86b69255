/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waits: what happened while the thread of a call waited for a CPU, also on its way out: of all
 * waits of the call, the largest sums.  Calls that never wait have none, nor anything to do with
 * this.
 */
#pragma once

#include <plumb/bpf/sched/waits.bpf.h>
#include "syscall-slower.h"

/* By task: of its last call that waited. */
PLUMB_MAP(slow_waiting, LRU_HASH, 4096 /* the loader: more, for many CPUs */, __u64,
	  struct plumb_waits);

static const struct plumb_waits no_waits;

/* The current thread waits in a call, or on its way out of that. */
static __always_inline void waits_begin(struct call_thread *t)
{
	__u64 key = (__u64)bpf_get_current_task();
	struct plumb_waits *waits;

	if (t->own.waited)
		return;
	t->own.waited = 1;
	waits = bpf_map_lookup_elem(&slow_waiting, &key);
	if (!waits)
		bpf_map_update_elem(&slow_waiting, &key, &no_waits, BPF_ANY);
	else
		waits_clear(waits);
}

static __always_inline void meanwhile_add(struct plumb_meanwhile *key, __u64 ns)
{
	__u64 task = meanwhile_waiter();
	struct plumb_waits *waits = bpf_map_lookup_elem(&slow_waiting, &task);

	if (waits)
		waits_add(waits, key, ns);
}

/* Those of the thread of TASK. */
static __always_inline void waits_copy(struct plumb_waits *to, __u64 task)
{
	const struct plumb_waits *waits = bpf_map_lookup_elem(&slow_waiting, &task);

	to->all[0].ns = 0;
	if (waits)
		bpf_probe_read_kernel(to, sizeof(*to), waits);
}
