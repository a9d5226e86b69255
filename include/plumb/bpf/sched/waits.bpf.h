/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* waits, BPF side: the largest sums of what happened while a thread waited for a CPU. */
#pragma once

#include <plumb/bpf/sched/meanwhile.bpf.h>
#include <plumb/bpf/sched/waits.h>

static __always_inline void waits_clear(struct plumb_waits *waits)
{
	__u32 i;

	for (i = 0; i < PLUMB_WAITS; i++)
		waits->all[i].ns = 0;
}

/*
 * The smallest sum makes room for one that is larger, and gets smaller by one that is not: so a
 * thread that has the CPU often for a little while has a sum in the end, and no sum is too large.
 */
static __always_inline void waits_add(struct plumb_waits *waits, const struct plumb_meanwhile *key,
				      __u64 ns)
{
	struct plumb_wait *least, *one;
	__u32 i;

	if (key->kind == PLUMB_MEANWHILE_WAITER) {
		waits->all[0].ns += ns;
		waits->all[0].who = *key;
		return;
	}
	least = &waits->all[1];
	for (i = 1; i < PLUMB_WAITS; i++) {
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
