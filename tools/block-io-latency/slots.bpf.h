/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* slots: where the states of requests are. */
#ifndef BLOCK_SLOTS_BPF_H
#define BLOCK_SLOTS_BPF_H

#include "block-io-latency.h"
#include <plumb/bpf/core/ledger.bpf.h>

/*
 * The states of requests, by the address of the first bio.  A request that has none, or that
 * completes in parts, is known by its own address.
 *
 * A state is in the slot of its address, which takes no helper call to find, or in the hash if that
 * slot has another.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLOCK_REQUESTS);
	__type(key, __u64);
	__type(value, struct block_request);
} block_requests SEC(".maps");

struct block_request block_slots[BLOCK_SLOTS] = {};

static __u64 block_hashed = 0;     /* states in the hash, at least */
static __u32 block_by_request = 0; /* 1: some were known by their own address */

static __always_inline struct block_request *slot_of(__u64 id)
{
	__u32 low;
	__u64 n;

	asm("%0 = %1" : "=w"(low) : "w"((__u32)id));     /* the verifier has typed pointers */
	n = low * 0x9e3779b1U >> (32 - BLOCK_SLOT_BITS); /* Knuth, vol. 3, 6.4 */
	barrier_var(n); /* keeps the mask last, which the verifier of 5.10 needs */
	return &block_slots[n & (BLOCK_SLOTS - 1)];
}

/* On x86, which keeps stores in order. */
static __always_inline bool has_slots(void)
{
#if defined(__TARGET_ARCH_x86)
	return true;
#else
	return false;
#endif
}

static __always_inline struct block_request *request_at(__u64 id)
{
	struct block_request *s = slot_of(id);

	if (has_slots() && s->id == id)
		return s->start ? s : NULL;
	if (has_slots() && !block_hashed)
		return NULL;
	s = bpf_map_lookup_elem(&block_requests, &id);
	return s && s->start ? s : NULL;
}

/* Only who finds itself alone takes the slot.  5.10 has no compare-and-exchange. */
static __always_inline bool slot_take(struct block_request *s)
{
	if (!has_slots() || *(volatile __u64 *)&s->users)
		return false;
	__sync_fetch_and_add(&s->users, 1);
	if (*(volatile __u64 *)&s->users == 1)
		return true;
	__sync_fetch_and_add(&s->users, -1);
	return false;
}

/* Of one that no slot has.  Not inlined, as it is rare. */
static __noinline struct block_request *state_in_hash(__u64 id)
{
	static const struct block_request none;

	__sync_fetch_and_add(&block_hashed, 1);
	if (!bpf_map_update_elem(&block_requests, &id, &none, BPF_ANY))
		return bpf_map_lookup_elem(&block_requests, &id);
	__sync_fetch_and_add(&block_hashed, -1);
	return NULL;
}

/*
 * A state for ID, without facts, which others find once its start is set; NULL: there is no room.
 * One that is there already is of a request whose end was missed.
 */
static __always_inline struct block_request *state_make(__u64 id)
{
	struct block_request *s = request_at(id);

	if (s) {
		if (!s->rejected && !s->merged)
			ledger_count(bpf_get_smp_processor_id(), exit_lost);
		s->start = 0;
	} else {
		s = slot_of(id);
		if (!slot_take(s))
			s = state_in_hash(id);
		if (!s)
			return NULL;
		s->id = id;
	}
	__builtin_memset(s, 0, BLOCK_FACTS);
	return s;
}

/* A deletion can fail (6.1: the map is busy), so the state says itself that it is no longer one. */
static __always_inline void forget(struct block_request *s)
{
	__u64 id = s->id;

	*(volatile __u64 *)&s->start = 0;
	s = slot_of(id);
	if (has_slots() && s->id == id) {
		*(volatile __u64 *)&s->id = 0;
		__sync_fetch_and_add(&s->users, -1);
	} else if (!bpf_map_delete_elem(&block_requests, &id)) {
		__sync_fetch_and_add(&block_hashed, -1);
	}
}

#endif
