/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * At each context switch of the workload: the stack is walked to, and then it is asked whether it
 * would be recognised, and whether it would be taken for one of those that this CPU had before.
 */
#include <plumb/bpf/stack/again.bpf.h>
#include "stack-twice.h"

#define KNOWN 256 /* stacks that a CPU remembers */
#define ASKED 24  /* so many of them at each switch, in turn */

struct twice_counts counts = {};

struct known {
	__u32 next;
	__s32 numbers[KNOWN];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct known);
} known SEC(".maps");

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

static __always_inline void compare(void *ctx, struct known *k, __s32 number)
{
	__u64 extent = again_extent(ctx);
	__s32 other;
	__u32 i;

	if (again_is(extent, number))
		count(&counts.recognised);
	else
		again_learn(extent, number);
	for (i = 0; i < ASKED; i++) {
		other = k->numbers[k->next++ % KNOWN];
		if (other != number && again_is(extent, other))
			count(&counts.mistaken);
	}
}

/* A thread of the workload? */
static __always_inline bool is_ours(void)
{
	const char name[] = "sleeps";
	char comm[PLUMB_COMM_LEN];
	__u32 i;

	if (bpf_get_current_comm(comm, sizeof(comm)))
		return false;
	for (i = 0; i < sizeof(name); i++)
		if (comm[i] != name[i])
			return false;
	return true;
}

SEC("raw_tp/sched_switch")
int on_leave(void *ctx)
{
	__u32 zero = 0;
	struct known *k = bpf_map_lookup_elem(&known, &zero);
	__s32 number;

	if (!k || !is_ours())
		return 0;
	number = stack_number(ctx, 0, bpf_get_smp_processor_id());
	if (number < 0)
		return 0;
	count(&counts.walked);
	compare(ctx, k, number);
	k->numbers[(__u32)number % KNOWN] = number;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
