/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* held: operations whose threads wait on their way out (sched/return.bpf.h). */
#pragma once

#include "record.bpf.h"

static __always_inline bool is_filtered_at_exit(__u64 ns, __u32 error)
{
	return (file_config.only_errors && !error) || ns < file_config.min_ns;
}

/* Add the call N times, 1 or -1, to what it is counted in. */
static __always_inline void return_count(const struct plumb_return *r, struct file_call *c,
					 __u32 cpu, __u64 n)
{
	c->ns = r->ns;
	if (is_filtered_at_exit(r->ns, r->error))
		ledger_add(cpu, filtered_at_exit, n);
	else
		file_add(r->slot, cpu, c, n);
}

static __always_inline bool return_undo(struct bpf_raw_tracepoint_args *ctx, PLUMB_THREAD *t,
					struct return_held *h, __u32 cpu)
{
	h->call = t->last;
	return_count(&t->ret, &h->call, cpu, -1);
	return true;
}

static __always_inline void return_redo(struct return_held *h, __u32 cpu)
{
	return_count(&h->ret, &h->call, cpu, 1);
}
