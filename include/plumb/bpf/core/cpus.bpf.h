/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* cpus: whether a CPU went offline, which removes the perf events that programs are attached to. */
#ifndef PLUMB_CPUS_BPF_H
#define PLUMB_CPUS_BPF_H

#include <plumb/bpf/core/common.bpf.h>

__u32 plumb_cpu_left = 0; /* 1: one did */

SEC("raw_tp/cpuhp_enter")
int cpu_leaves(struct bpf_raw_tracepoint_args *ctx)
{
	if (!ctx->args[1]) /* the state that it is to reach: CPUHP_OFFLINE */
		plumb_cpu_left = 1;
	return 0;
}

#endif
