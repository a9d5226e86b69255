/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* held: messages whose threads wait on their way out (sched/return.bpf.h). */
#pragma once

#include "send.bpf.h"

static __always_inline bool is_filtered_at_exit(__u64 ns, __u32 error)
{
	return (tcp_config.only_errors && !error) || ns < tcp_config.min_ns;
}

/* Record the current thread's message, and remember it in T, if that is not NULL. */
static __noinline int record(PLUMB_THREAD *t, struct sock *sk, __u64 ns, __u64 asked, long ret)
{
	__u32 cpu = bpf_get_smp_processor_id(), error = ret < 0 ? -ret : 0, slot = 0;
	struct send_bytes bytes = {.asked = asked, .sent = ret > 0 ? ret : 0};
	bool filtered = is_filtered_at_exit(ns, error);
	struct plumb_totals *totals;
	struct send_key key = {};

	if (!filtered || ns < tcp_config.min_ns)
		fill_key(&key, sk, asked, error);
	if (filtered) {
		ledger_count(cpu, filtered_at_exit);
	} else {
		slot = send_slot(&key);
		totals = hist_record(slot, cpu, ns, error, false);
		if (totals) {
			plumb_add(totals->counters[0], bytes.asked);
			plumb_add(totals->counters[1], bytes.sent);
		}
	}
	if (!t)
		return 0;
	t->ret.ns = ns;
	t->ret.error = error;
	t->ret.slot = slot;
	t->last.bytes = bytes;
	if (filtered) /* else whatever it waits for */
		t->last.key = key;
	return 0;
}

static __always_inline void find_slot(PLUMB_THREAD *t)
{
	if (return_is_fresh(t) && is_filtered_at_exit(t->ret.ns, t->ret.error))
		t->ret.slot = send_slot(&t->last.key);
}

/* Add the message N times, 1 or -1, to what it is counted in. */
static __noinline int return_count(const struct plumb_return *r, const struct send_bytes *b,
				   __u64 n)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;

	if (!r || !b) /* for the verifier */
		return 0;
	if (is_filtered_at_exit(r->ns, r->error)) {
		ledger_add(cpu, filtered_at_exit, n);
		return 0;
	}
	totals = hist_record_split(r->slot, cpu, r->ns, r->error, r->ns, true, n);
	if (!totals)
		return 0;
	plumb_add(totals->counters[0], b->asked * n);
	plumb_add(totals->counters[1], b->sent * n);
	return 0;
}

static __always_inline bool return_undo(struct bpf_raw_tracepoint_args *ctx, PLUMB_THREAD *t,
					struct return_held *h, __u32 cpu)
{
	h->call = t->last.bytes;
	return_count(&t->ret, &t->last.bytes, -1);
	return true;
}

static __always_inline void return_redo(struct return_held *h, __u32 cpu)
{
	return_count(&h->ret, &h->call, 1);
}
