/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* untimed, BPF side: calls that the tool does not time, but counts (syscalls/untimed.h). */
#ifndef PLUMB_UNTIMED_BPF_H
#define PLUMB_UNTIMED_BPF_H

#include <plumb/bpf/core/atomic.h>
#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/syscall/untimed.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLUMB_MAX_UNTIMED);
	__type(key, __u32);
	__type(value, __u64);
} plumb_untimed SEC(".maps");

/* A call of kind I. */
static __always_inline void untimed_count(__u32 i)
{
	__u64 *n = bpf_map_lookup_elem(&plumb_untimed, &i);

	if (n)
		atomic_add(n, 1);
}

#endif
