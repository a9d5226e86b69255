/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpus: which CPUs went offline, which removes the perf events that programs are attached to. */
#pragma once

#include <plumb/bpf/core/common.bpf.h>

__u8 plumb_cpus_left[PLUMB_CPUS] = {}; /* 1: it did; the loader resets it */

SEC("raw_tp/cpuhp_enter")
int cpu_leaves(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 cpu = ctx->args[0];

	if (!ctx->args[1] && cpu < PLUMB_CPUS) /* the state that it is to reach: CPUHP_OFFLINE */
		plumb_cpus_left[cpu] = 1;
	return 0;
}
