/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* untimed, BPF side: calls that the tool does not time, but counts (syscalls/untimed.h). */
#pragma once

#include <plumb/bpf/core/common.bpf.h>

#define PLUMB_MAX_UNTIMED 8 /* kinds of them */

PLUMB_MAP(plumb_untimed, ARRAY, PLUMB_MAX_UNTIMED, __u32, __u64);

/* A call of kind I. */
static __always_inline void untimed_count(__u32 i)
{
	__u64 *n = bpf_map_lookup_elem(&plumb_untimed, &i);

	if (n)
		atomic_add(n, 1);
}
