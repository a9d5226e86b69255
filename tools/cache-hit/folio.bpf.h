/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* folio: which pages of a file the kernel adds to the page cache, or removes from it. */
#pragma once

#include <plumb/bpf/core/types.h>
#include <bpf/bpf_core_read.h>

/* As up to 6.5. */
struct folio___old {
	unsigned char _folio_order;
} __attribute__((preserve_access_index));

/* As before 5.16; the members have other names later. */
struct page___old {
	struct address_space *mapping;
	unsigned long index;
} __attribute__((preserve_access_index));

/* The page, or from 5.16 on the folio, that was added. */
static __always_inline void folio_read(const void *address, __u64 *mapping, __u64 *index,
				       __u64 *pages)
{
	const struct folio *folio = address;
	__u64 flags = 0;

	*pages = 1;
	if (!bpf_core_type_exists(struct folio)) {
		*mapping = (__u64)BPF_CORE_READ((struct page___old *)address, mapping);
		*index = BPF_CORE_READ((struct page___old *)address, index);
		return;
	}
	*mapping = (__u64)BPF_CORE_READ(folio, mapping);
	*index = BPF_CORE_READ(folio, index);
	/* The first member, which from 6.18 on is a struct. */
	bpf_probe_read_kernel(&flags, sizeof(flags), address);
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return;
	if (bpf_core_field_exists(struct folio___old, _folio_order))
		*pages = 1ULL << (BPF_CORE_READ((struct folio___old *)folio, _folio_order) & 63);
	else if (bpf_core_field_exists(struct folio, _flags_1))
		*pages = 1ULL << (BPF_CORE_READ(folio, _flags_1) & 63);
}
