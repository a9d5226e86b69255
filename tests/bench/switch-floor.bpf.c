/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a context switch costs more by the least that a tracer can do to it. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "switch-floor.h"

const volatile __u32 step = 0;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct floor_stacks);
} stacks SEC(".maps");

SEC("raw_tp/sched_switch")
int on_leave(void *ctx)
{
	struct floor_stacks *s;
	__u32 zero = 0;

	if (step == FLOOR_EMPTY)
		return 0;
	s = bpf_map_lookup_elem(&stacks, &zero);
	if (!s)
		return 0;
	bpf_get_stack(ctx, s->kernel, sizeof(s->kernel), 0);
	if (step == FLOOR_BOTH)
		bpf_get_stack(ctx, s->user, sizeof(s->user), BPF_F_USER_STACK);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
