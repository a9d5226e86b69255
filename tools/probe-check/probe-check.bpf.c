/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/bpf/core/common.bpf.h>

#include "probe-check.h"

/* Each target has a BPF object of its own, so the counters are of one target. */
struct fires fires[FIRES] = {};

static __always_inline int count(void)
{
	atomic_add(&fires[bpf_get_smp_processor_id() & (FIRES - 1)].n, 1);
	return 0;
}

SEC("kprobe")
int count_kprobe(void *ctx __attribute__((unused)))
{
	return count();
}

SEC("raw_tp")
int count_raw(void *ctx __attribute__((unused)))
{
	return count();
}

SEC("tracepoint")
int count_tracepoint(void *ctx __attribute__((unused)))
{
	return count();
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
