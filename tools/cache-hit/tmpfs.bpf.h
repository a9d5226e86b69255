/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tmpfs: it adds its pages without a tracepoint, and its holes have none.  How many a call added is
 * how many more the file has afterwards; how many a call has read are looked for in the xarray.
 */
#pragma once

#include <plumb/bpf/core/types.h>
#include <bpf/bpf_core_read.h>

#define TMPFS_MAGIC  0x01021994
#define XARRAY_SLOTS 64
#define XARRAY_DEPTH 11

/* An entry that the xarray uses itself: a node, or the number of another slot. */
static __always_inline bool xarray_own(__u64 entry)
{
	return (entry & 3) == 2;
}

static __always_inline __u64 xarray_slot(const struct xa_node *node, __u64 i)
{
	__u64 entry = 0;

	bpf_probe_read_kernel(&entry, sizeof(entry),
			      (void *)node + bpf_core_field_offset(struct xa_node, slots) +
				      i % XARRAY_SLOTS * sizeof(entry));
	return entry;
}

/*
 * Not static: so the verifier sees it once, and knows nothing of what it returns. On 5.10 a count
 * of known 0s and 1s would be another state with each value.
 */
__noinline int tmpfs_is_hole(__u64 mapping, __u64 index)
{
	__u64 entry = (__u64)BPF_CORE_READ((struct address_space *)mapping, i_pages.xa_head);
	const struct xa_node *node;
	__u32 depth, shift;

	if (index && !xarray_own(entry)) /* it is of the first page */
		return 1;
	for (depth = 0; depth < XARRAY_DEPTH && xarray_own(entry); depth++) {
		node = (void *)(entry - 2);
		shift = BPF_CORE_READ(node, shift) & 63;
		if (!depth && index >> shift >= XARRAY_SLOTS)
			return 1;
		entry = xarray_slot(node, index >> shift);
		if (xarray_own(entry) && entry >> 2 < XARRAY_SLOTS) /* of a large folio */
			entry = xarray_slot(node, entry >> 2);
	}
	/* The numbers among the entries are places in swap. */
	return !entry || entry & 1;
}

#define TMPFS_STEP  256
#define TMPFS_PAGES (128 * TMPFS_STEP) /* at most, as a walk stalls the call */

__noinline int tmpfs_step(__u64 mapping, __u64 low, __u64 high)
{
	__u32 i;
	int n = 0;

	for (i = 0; i < TMPFS_STEP && low + i < high; i++)
		n += tmpfs_is_hole(mapping, low + i);
	return n;
}

/* How many of the pages [LOW, HIGH) are in holes. */
static __always_inline __u64 tmpfs_holes(const struct address_space *mapping, __u64 low, __u64 high)
{
	__u64 size = BPF_CORE_READ(mapping, host, i_size), n = 0;
	__u32 i;

	if (BPF_CORE_READ(mapping, nrpages) >= (size + (1 << page_bits) - 1) >> page_bits)
		return 0;
	for (i = 0; i < TMPFS_PAGES / TMPFS_STEP && low < high; i++, low += TMPFS_STEP)
		n += tmpfs_step((__u64)mapping, low, high);
	return n;
}
