/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What block requests, page faults, allocations and reads take longer by programs that do nothing.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include "storage-floor.h"

const volatile __u32 step = 0;

static __always_inline int do_step(void)
{
	if (step == FLOOR_CLOCK)
		bpf_ktime_get_ns(); /* a call is never removed */
	return 0;
}

#define FLOOR(name, section)                                                                       \
	SEC(section) int name(void *ctx __attribute__((unused)))                                   \
	{                                                                                          \
		return do_step();                                                                  \
	}

FLOOR(block_made, "?raw_tp/block_io_start")
FLOOR(block_inserted, "?raw_tp/block_rq_insert")
FLOOR(block_issued, "?raw_tp/block_rq_issue")
FLOOR(block_completed, "?raw_tp/block_rq_complete")
FLOOR(alloc_made, "?raw_tp/kmem_cache_alloc")
FLOOR(read_begins, "?raw_tp/sys_enter")
FLOOR(read_ends, "?raw_tp/sys_exit")
FLOOR(fault_begins, "?perf_event")
FLOOR(fault_ends, "?perf_event")

char LICENSE[] SEC("license") = "Dual BSD/GPL";
