/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* exec: what a thread was inside is gone with its program. */
#pragma once

#include <plumb/bpf/function/frames.bpf.h>

SEC("raw_tp/sched_process_exec")
int thread_executes(void *ctx __attribute__((unused)))
{
	struct function_thread *t = inflight_get(current_task());

	if (t && t->depth) {
		ledger_add(bpf_get_smp_processor_id(), abandoned, t->depth);
		t->depth = 0;
	}
	return 0;
}
