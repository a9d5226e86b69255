/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * keys, BPF side: from a key to the number of its slot.
 *
 * Slots are never freed. Slot 0 is [other], for keys beyond --max-keys.
 *
 * A tool defines the struct of its key as PLUMB_KEY before it includes this file.
 */
#ifndef PLUMB_KEYS_BPF_H
#define PLUMB_KEYS_BPF_H

#include <plumb/bpf/core/common.bpf.h>

#ifndef PLUMB_KEY
#error "PLUMB_KEY: define it as the struct of the tool's key before"
#endif

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the loader: --max-keys */
	__type(key, PLUMB_KEY);
	__type(value, __u32);
} plumb_keys SEC(".maps");

/*
 * The free slots, filled by the loader.  A queue, because an atomic counter would need an add that
 * returns the old value, which 5.10 lacks.
 */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1); /* set by the loader: --max-keys */
	__type(value, __u32);
} plumb_free_slots SEC(".maps");

/*
 * The slot of KEY, a new one if it has none; 0 if all are in use. False: do not cache that answer.
 */
static __always_inline bool key_find(const PLUMB_KEY *key, __u32 *slot)
{
	__u32 *known = bpf_map_lookup_elem(&plumb_keys, key);

	*slot = 0;
	if (!known && !bpf_map_pop_elem(&plumb_free_slots, slot)) {
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

#endif
