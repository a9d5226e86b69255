/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * At each context switch: the stack is walked, and asked which of those known it is: this
 * thread's last, and whatever stacks this CPU has seen of late.
 */
#include <plumb/stack-again.bpf.h>
#include "stack-twice.h"

#define RECENT 32

struct twice_counts counts = {};

/* The numbers of the stacks that this CPU walked to last; one program a CPU writes them. */
struct recent {
	__u32 next;
	__s32 numbers[RECENT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct recent);
} recent SEC(".maps");

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/*
 * Are the stacks of these numbers the same from the context on?  Below, the kernel calls a
 * program from another place while it keeps statistics of programs.
 */
__noinline int same_above(__s32 one, __s32 other)
{
	struct plumb_stack *a = bpf_map_lookup_elem(&plumb_stacks, &one);
	struct plumb_stack *b = bpf_map_lookup_elem(&plumb_stacks, &other);
	struct again_places *p = bpf_map_lookup_elem(&plumb_again, &one);
	__u32 i;

	if (!a || !b || !p || a->n != b->n)
		return false;
	for (i = 0; i < PLUMB_STACK_DEPTH && i < a->n; i++)
		if (i + p->n + 1 >= a->n && a->addresses[i] != b->addresses[i])
			return false;
	return true;
}

/* Is it NUMBER that stands here, or any of the others? */
static __always_inline void compare(void *ctx, struct recent *r, __s32 number)
{
	__u32 i;

	if (again_is(ctx, number))
		count(&counts.recognised);
	else
		again_learn(ctx, number);
	for (i = 0; i < RECENT; i++)
		if (r->numbers[i] != number && again_is(ctx, r->numbers[i]) &&
		    !same_above(r->numbers[i], number))
			count(&counts.mistaken);
}

SEC("raw_tp/sched_switch")
int on_leave(void *ctx)
{
	__s32 number = stack_number(ctx, 0, bpf_get_smp_processor_id());
	__u32 zero = 0, i;
	struct recent *r = bpf_map_lookup_elem(&recent, &zero);

	if (!r || number < 0 || !(__u32)bpf_get_current_pid_tgid())
		return 0;
	count(&counts.walked);
	compare(ctx, r, number);
	for (i = 0; i < RECENT; i++)
		if (r->numbers[i] == number)
			return 0;
	r->numbers[r->next++ % RECENT] = number;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
