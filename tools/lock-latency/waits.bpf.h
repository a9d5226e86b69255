/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * waits: what is kept of the waits that have not ended.
 *
 * They nest: an interrupt can wait while a thread does, and a thread that goes to sleep can first
 * wait for another lock.  Those that spin are kept by CPU, since they do not leave it; the others
 * by thread, as long as there are any.  Nothing is allocated: the allocator has locks, too.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include "lock-latency.h"

#define PLUMB_THREAD struct lock_thread
#include <plumb/bpf/core/inflight.bpf.h>

static __always_inline __u32 inflight_clear(struct lock_thread *t, struct task_struct *task)
{
	__u32 was = t ? t->depth : 0;

	if (t)
		t->depth = 0;
	return was;
}

#include <plumb/bpf/core/exit.bpf.h>

/* Of a thread, a softirq, an interrupt and an NMI. */
#define LOCK_CPU_WAITS 4

struct lock_cpu {
	__u64 depth;
	struct lock_wait waits[LOCK_CPU_WAITS];
};

PLUMB_MAP(lock_cpus, PERCPU_ARRAY, 1, __u32, struct lock_cpu);

static __always_inline struct lock_cpu *waits_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&lock_cpus, &zero);
}

/* Wait I of an array of N, a power of two. */
static __always_inline struct lock_wait *wait_at(struct lock_wait *waits, __u64 i, __u32 n)
{
	barrier_var(i); /* the mask is for the verifier */
	return &waits[i & (n - 1)];
}

/* The number, from 1 on, of the innermost of DEPTH waits that is for LOCK; 0: there is none. */
static __always_inline __u32 wait_find(struct lock_wait *waits, __u64 depth, __u32 n, __u64 lock)
{
	__u32 i, found = 0;

	for (i = 0; i < n; i++)
		if (i < depth && waits[i].id.lock == lock)
			found = i + 1;
	return found;
}
