/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ahead: pages that traced calls read ahead, each with the row of that call, until a traced thread
 * uses the page or the kernel removes it from the page cache.
 *
 * A block that has no such pages any more is removed by the thread that used the last one.  If
 * another thread adds pages to it at that moment, these may be forgotten, and then count as used.
 */
#pragma once

#include "cache-hit.h"
#include <plumb/bpf/core/totals.bpf.h>

PLUMB_MAP(ahead_blocks, HASH, AHEAD_BLOCKS, struct ahead_key, struct ahead_block);

/* Pages for which there was no room; whether there ever were any. */
__u64 ahead_untracked = 0;
__u32 ahead_any = 0;

/* In place of a row: the pages are used; they are removed from the page cache. */
#define AHEAD_USED 0
#define AHEAD_LOST (~0U)

/*
 * Those of the pages [LOW, HIGH) that are in BLOCK have ROW from now on.  This function and the
 * next are not static: so the verifier sees each once.
 */
__noinline int ahead_set_block(__u64 mapping, __u64 block, __u64 low, __u64 high, __u32 row)
{
	const struct ahead_key key = {.mapping = mapping, .block = block};
	struct ahead_block *b = bpf_map_lookup_elem(&ahead_blocks, &key), fresh = {};
	__u64 first = block * AHEAD_PAGES, left = 0;
	__u32 from = low > first ? low - first : 0, i, was;
	__u32 to = high - first < AHEAD_PAGES ? high - first : AHEAD_PAGES;
	bool adds = row != AHEAD_USED && row != AHEAD_LOST;
	struct plumb_totals *totals;

	if (!b && adds) {
		bpf_map_update_elem(&ahead_blocks, &key, &fresh, BPF_NOEXIST);
		b = bpf_map_lookup_elem(&ahead_blocks, &key);
		if (!b)
			atomic_add(&ahead_untracked, to - from);
	}
	if (!b)
		return 0;
	for (i = 0; i < AHEAD_PAGES && from + i < to; i++) {
		was = b->rows[(from + i) & (AHEAD_PAGES - 1)];
		b->rows[(from + i) & (AHEAD_PAGES - 1)] = adds ? row : 0;
		if (row != AHEAD_LOST || !was)
			continue;
		totals = totals_of(was - 1, bpf_get_smp_processor_id());
		if (totals)
			plumb_add(totals->sum, 1);
	}
	for (i = 0; i < AHEAD_PAGES / 2; i++)
		left |= ((__u64 *)b->rows)[i];
	if (!left)
		bpf_map_delete_elem(&ahead_blocks, &key);
	return 0;
}

#define AHEAD_STEP (512 * AHEAD_PAGES)

/* The same in all blocks; at most AHEAD_STEP pages. */
__noinline int ahead_set(__u64 mapping, __u64 low, __u64 high, __u32 row)
{
	__u64 block = low / AHEAD_PAGES;
	__u32 i;

	for (i = 0; i <= AHEAD_STEP / AHEAD_PAGES && block * AHEAD_PAGES < high; i++, block++)
		ahead_set_block(mapping, block, low, high, row);
	return 0;
}

/* A call of ROW added pages that it was not asked for. */
static __always_inline void ahead_mark(__u64 mapping, __u64 low, __u64 high, __u32 row)
{
	if (low >= high)
		return;
	ahead_any = 1;
	ahead_set(mapping, low, high, row);
}

/* At most as many as a call can read, 2 GB. */
static __always_inline void ahead_use(__u64 mapping, __u64 low, __u64 high)
{
	__u32 i;

	for (i = 0; ahead_any && i <= (1U << 31) / 4096 / AHEAD_STEP && low < high;
	     i++, low += AHEAD_STEP)
		ahead_set(mapping, low, high - low < AHEAD_STEP ? high : low + AHEAD_STEP,
			  AHEAD_USED);
}
