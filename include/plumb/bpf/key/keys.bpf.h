/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * keys, BPF side: from a key to the number of its slot.
 *
 * Slots are never freed. Slot 0 is [other], for keys beyond --max-keys.
 *
 * A tool defines the struct of its key as PLUMB_KEY before it includes this file.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>

#ifndef PLUMB_KEY
#error "PLUMB_KEY: define it as the struct of the tool's key before"
#endif

PLUMB_MAP(plumb_keys, HASH, 1 /* set by the loader: --max-keys */, PLUMB_KEY, __u32);

/*
 * The free slots, filled by the loader.  A queue, because an atomic counter would need an add that
 * returns the old value, which 5.10 lacks.
 */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* set by the loader: --max-keys */
	__type(value, __u32);
} plumb_free_slots SEC(".maps");

/* The keys by slot.  One is written before others can find its slot, and not changed then. */
PLUMB_MAP(plumb_keys_by_slot, ARRAY, 1 /* set by the loader: --max-keys, and slot 0 */, __u32,
	  PLUMB_KEY);

#define PLUMB_HINT_BITS 5 /* hints of a CPU, as a power of two */

/*
 * The slots that each CPU found last, by a number made of the key; 0: none.  A slot is that of a
 * key if it has the key, so that programs may interrupt each other anywhere here.
 */
static __u32 plumb_hints[PLUMB_LEDGERS << PLUMB_HINT_BITS] = {};

/* A key's words are compared, and hashed, without those of a thread by which nothing is grouped. */
#define KEY_WORDS     (sizeof(PLUMB_KEY) / 8)
#define KEY_WHO_WORDS (sizeof(struct plumb_who) / 8)
#define KEY_HAS_WHO   (plumb_config.by & (PLUMB_BY_TOOL - 1))

static __always_inline __u32 *key_hint(const PLUMB_KEY *key, __u32 cpu)
{
	const __u64 *words = (const __u64 *)key;
	__u64 mix = 0;
	__u32 i;

	for (i = KEY_WHO_WORDS; i < KEY_WORDS; i++)
		mix += words[i] * (2 * i + 1);
	for (i = 0; KEY_HAS_WHO && i < KEY_WHO_WORDS; i++)
		mix += words[i] * (2 * i + 1);
	mix *= 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	return &plumb_hints[ledger_index(cpu, mix >> (64 - PLUMB_HINT_BITS), PLUMB_HINT_BITS)];
}

static __always_inline bool key_is_at(const PLUMB_KEY *key, __u32 slot)
{
	const __u64 *a = (const __u64 *)key, *b = bpf_map_lookup_elem(&plumb_keys_by_slot, &slot);
	__u64 differs =
		((__u64)slot - 1) >> 63; /* without a branch that the verifier has to follow */
	__u32 i;

	if (!b)
		return false;
	for (i = KEY_WHO_WORDS; i < KEY_WORDS; i++)
		differs |= a[i] ^ b[i];
	for (i = 0; KEY_HAS_WHO && i < KEY_WHO_WORDS; i++)
		differs |= a[i] ^ b[i];
	return !differs;
}

/* As key_find(), in the table. */
static __always_inline bool key_look_up(const PLUMB_KEY *key, __u32 *slot)
{
	__u32 *known = bpf_map_lookup_elem(&plumb_keys, key);

	*slot = 0;
	if (!known && !bpf_map_pop_elem(&plumb_free_slots, slot)) {
		bpf_map_update_elem(&plumb_keys_by_slot, slot, key, BPF_ANY);
		if (!bpf_map_update_elem(&plumb_keys, key, slot, BPF_NOEXIST))
			return true;
		/*
		 * Another CPU was first, or the table was busy (6.1): then [other], for this call
		 * only.
		 */
		bpf_map_push_elem(&plumb_free_slots, slot, BPF_ANY);
		*slot = 0;
		known = bpf_map_lookup_elem(&plumb_keys, key);
		if (!known)
			return false;
	}
	if (known)
		*slot = *known;
	return true;
}

/*
 * The slot of KEY, a new one if it has none; 0 if all are in use. False: do not cache that answer.
 */
static __always_inline bool key_find(const PLUMB_KEY *key, __u32 *slot)
{
	__u32 *hint = key_hint(key, bpf_get_smp_processor_id());

	*slot = *hint;
	if (key_is_at(key, *slot))
		return true;
	if (!key_look_up(key, slot))
		return false;
	*hint = *slot;
	return true;
}
