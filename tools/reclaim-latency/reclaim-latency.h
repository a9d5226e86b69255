/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of reclaim-latency. */
#pragma once

#include <plumb/bpf/key/key.h>

/* Keys that the tool adds to --by. */
#define RECLAIM_BY_KIND  (PLUMB_BY_TOOL << 0)
#define RECLAIM_BY_ORDER (PLUMB_BY_TOOL << 1)
#define RECLAIM_BY_GFP   (PLUMB_BY_TOOL << 2)

enum reclaim_kind {
	RECLAIM_NONE,
	RECLAIM_DIRECT,     /* of the machine or a node of it: an allocation found no free page */
	RECLAIM_MEMCG,      /* of a memory cgroup: a charge is above its limit */
	RECLAIM_COMPACTION, /* of one zone */
	RECLAIM_KINDS
};

/* What a thread stalls for. */
struct reclaim_cause {
	__u32 kind;  /* enum reclaim_kind */
	__u32 order; /* 1 and the order of the allocation; 0: not known */
	__u32 gfp;   /* its flags; 0: not known */
	__u32 pad;
};

struct reclaim_key {
	struct plumb_who who;
	struct reclaim_cause cause;
};
_Static_assert(sizeof(struct reclaim_key) == 72, "no hidden padding in a hash key");

/* In plumb_totals.counters: pages that were reclaimed. */
#define RECLAIM_PAGES 0

/* The arguments of raw tracepoints by their numbers, which differ between kernels. */
struct reclaim_config {
	__u32 order_at, gfp_at; /* mm_vmscan_direct_reclaim_begin, mm_vmscan_memcg_reclaim_begin */
	__u32 status_at;        /* mm_compaction_end */
	__u32 victim_is_task;   /* mark_victim has the task (6.8), not its number only */
};

/* A process that the kernel killed to get memory (OOM). */
struct reclaim_kill {
	__u64 time;                 /* ns, CLOCK_MONOTONIC */
	__u64 cgroup;               /* of the thread that needed the memory */
	struct reclaim_cause cause; /* that thread's last stall; RECLAIM_NONE: not known */
	__u32 pid, by_pid, by_tid, pad;
	char comm[PLUMB_COMM_LEN]; /* "": not known to the program */
	char by_comm[PLUMB_COMM_LEN];
};
