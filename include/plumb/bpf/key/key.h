/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * key: the key of a row, shared by loaders and programs.
 *
 * A tool's key is a struct whose first member is struct plumb_who, followed by the tool's own
 * members. Fields by which rows are not grouped are zero.
 */
#pragma once

#include <plumb/bpf/core/types.h>

#define PLUMB_COMM_LEN 16

/* Bits of plumb_config.by; a tool's own bits start at PLUMB_BY_TOOL. */
#define PLUMB_BY_PID     (1U << 0)
#define PLUMB_BY_TID     (1U << 1)
#define PLUMB_BY_COMM    (1U << 2)
#define PLUMB_BY_CGROUP  (1U << 3)
#define PLUMB_BY_CPU     (1U << 4)
#define PLUMB_BY_PROCESS (1U << 5)
#define PLUMB_BY_TOOL    (1U << 9)
/*
 * Loaders make more of the cgroup: its id, so that cgroups of one path are different rows; the
 * container and the pod.  Programs do not know these: PLUMB_BY_CGROUP is set, too.
 */
#define PLUMB_BY_CGROUP_ID (1U << 6)
#define PLUMB_BY_CONTAINER (1U << 7)
#define PLUMB_BY_POD       (1U << 8)
#define PLUMB_BY_CGROUPS   (PLUMB_BY_CGROUP | PLUMB_BY_CGROUP_ID | PLUMB_BY_CONTAINER | PLUMB_BY_POD)

#define PLUMB_CGROUP_PATH 512 /* bytes kept of the path of a cgroup that was removed */

struct plumb_who {
	__u32 pid; /* the kernel's tgid */
	__u32 tid;
	__u64 cgroup; /* id in the cgroup v2 hierarchy: the inode of its directory */
	char comm[PLUMB_COMM_LEN];
	char process[PLUMB_COMM_LEN]; /* the main thread's comm */
	__u32 cpu;
	__u32 pad;
};
_Static_assert(sizeof(struct plumb_who) == 56, "no hidden padding in a hash key");

#define PLUMB_COUNTERS 3

/*
 * Totals of one slot on one CPU, written by that CPU only. Times in ns. min is stored as its
 * complement, so that zeroed memory means "none yet".
 */
struct plumb_totals {
	__u64 count;
	__u64 errors;
	__u64 sum;
	__u64 max;
	__u64 inverted_min;
	__u64 counters[PLUMB_COUNTERS]; /* the tool's own (plumb_column) */
};
_Static_assert(sizeof(struct plumb_totals) == 64, "one cache line");
