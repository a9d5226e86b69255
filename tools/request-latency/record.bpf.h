/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record: a request that has ended: its stages and their parts, its rows, its record. */
#pragma once

#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/keys.bpf.h>
#include "socket.bpf.h"

enum { SPLIT_PARTS = REQUEST_OFF };
#include <plumb/bpf/hist/split-hist.bpf.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by the loader */
} request_slow_ones SEC(".maps");

PLUMB_MAP(request_row_uses, HASH, REQUEST_ROW_USES, struct request_row_use, __u64);

/* What a stage consists of. */
struct request_times {
	__u64 ns[REQUEST_STAGES];
	__u64 off[REQUEST_OFF];
};

/* Add a part of at most LEFT ns; return what is left then. */
static __always_inline __u64 take(__u64 *part, __u64 ns, __u64 left)
{
	/* Clocks of CPUs can differ a little. */
	*part = ns < left ? ns : left;
	return left - *part;
}

/* READ: S->read, which is 0 by now.  END: when the last of the reply was sent. */
static __always_inline void divide(const struct request_socket *s, __u64 read, __u64 end,
				   struct request_times *t)
{
	__u64 left;
	__u32 i;

	if ((__s64)(read - s->first) < 0)
		read = s->first;
	if ((__s64)(end - read) < 0)
		end = read;
	t->ns[REQUEST_WHOLE] = end - s->first;
	t->ns[REQUEST_QUEUED] = read - s->first;
	t->ns[REQUEST_SERVICE] = end - read;

	left = take(&t->off[REQUEST_ASLEEP], s->asleep, read - s->first);
	left = take(&t->off[REQUEST_LATE], s->late, left);
	t->off[REQUEST_BUSY] = left;
	left = end - read;
	if (s->sender != s->reader || end != s->sent) {
		t->off[REQUEST_HANDED] = left;
		return;
	}
	for (i = 0; i < REQUEST_ACCOUNTS; i++)
		left = take(&t->off[i], s->service[i], left);
}

/* Add a use to the row of SLOT.  What finds no room is in the row's part only. */
static __always_inline void row_uses(__u32 slot, __u64 what, __u64 ns)
{
	struct request_row_use key = {.what = what, .slot = slot};
	__u64 *sum = bpf_map_lookup_elem(&request_row_uses, &key);

	if (sum)
		atomic_add(sum, ns);
	else if (bpf_map_update_elem(&request_row_uses, &key, &ns, BPF_NOEXIST)) {
		sum = bpf_map_lookup_elem(&request_row_uses, &key); /* another CPU was first */
		if (sum)
			atomic_add(sum, ns);
	}
}

/* The uses of S, of each part at most what that is. */
static __noinline int record_uses(const struct request_socket *s, const struct request_times *t,
				  __u32 slot)
{
	__u64 left[REQUEST_ACCOUNTS], ns;
	__u32 part, i;

	if (!s || !t) /* for the verifier */
		return 0;
	if (t->off[REQUEST_HANDED])
		return 0;
	for (i = 0; i < REQUEST_ACCOUNTS; i++)
		left[i] = t->off[i];
	for (i = 0; i < REQUEST_USES && i < s->n_uses; i++) {
		part = s->uses[i].what >> REQUEST_WHAT_SHIFT;
		if (!s->uses[i].ns || part >= REQUEST_ACCOUNTS)
			continue;
		left[part] = take(&ns, s->uses[i].ns, left[part]);
		if (ns)
			row_uses(slot, s->uses[i].what, ns);
	}
	return 0;
}

static __always_inline bool send(const struct request_socket *s, const struct request_times *t)
{
	struct request_slow *slow = bpf_ringbuf_reserve(&request_slow_ones, sizeof(*slow), 0);
	__u32 i;

	if (!slow)
		return false;
	slow->end = s->first + t->ns[REQUEST_WHOLE];
	__builtin_memcpy(slow->ns, t->ns, sizeof(slow->ns));
	__builtin_memcpy(slow->off, t->off, sizeof(slow->off));
	for (i = 0; i < REQUEST_SPANS; i++) {
		slow->spans[i] = s->spans[i];
		if (t->off[REQUEST_HANDED])
			slow->spans[i].from = 0;
	}
	slow->path = s->path;
	slow->raddr = s->raddr;
	slow->port = s->port;
	slow->pid = s->pid;
	slow->tid = s->tid;
	slow->pad = 0;
	__builtin_memcpy(slow->comm, s->comm, sizeof(slow->comm));
	bpf_ringbuf_submit(slow, 0);
	return true;
}

/* The rows of S, which are looked up once. */
static __noinline int find_rows(const struct sock *sk, struct request_socket *s)
{
	struct request_key key = {};
	__u32 i, slot;

	if (!s) /* for the verifier */
		return 0;
	key.who = s->who;
	if (!s->path)
		ends_fill(&key.ends, sk, false);
	else if (plumb_config.by & TCP_BY_NETNS)
		key.ends.netns = ends_netns(sk);
	if (plumb_config.by & REQUEST_BY_SERVER) {
		key.path = s->path;
		key.port = s->port;
	}
	for (i = 0; i < (plumb_config.by & REQUEST_BY_STAGE ? REQUEST_STAGES : 1); i++) {
		key.stage = i;
		key_find(&key, &slot);
		s->slots[i] = slot;
	}
	return 0;
}

/* The result is the slot. */
static __noinline __u32 record_stage(const struct request_socket *s, const struct request_times *t,
				     __u32 stage)
{
	__u64 off[REQUEST_OFF] = {}, on;
	__u32 i;

	if (!s || !t || stage >= REQUEST_STAGES) /* for the verifier */
		return 0;
	on = t->ns[stage];
	for (i = 0; i < REQUEST_OFF; i++) {
		if (stage == (i < REQUEST_BUSY ? REQUEST_QUEUED : REQUEST_SERVICE))
			continue;
		off[i] = t->off[i];
		on -= off[i];
	}
	split_record(off, s->slots[stage], bpf_get_smp_processor_id(), t->ns[stage], on, 0);
	return s->slots[stage];
}

static __noinline int record(const struct request_socket *s, __u64 read, __u64 end)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct request_times t = {};

	if (!s) /* for the verifier */
		return 0;
	divide(s, read, end, &t);
	if (t.ns[REQUEST_WHOLE] < request_config.min_ns) {
		ledger_count(cpu, filtered_at_exit);
		return 0;
	}
	if (request_config.slower && !send(s, &t)) {
		ledger_count(cpu, dropped);
		return 0;
	}
	record_uses(s, &t, record_stage(s, &t, REQUEST_WHOLE));
	if (plumb_config.by & REQUEST_BY_STAGE) {
		record_stage(s, &t, REQUEST_QUEUED);
		record_stage(s, &t, REQUEST_SERVICE);
	}
	return 0;
}
