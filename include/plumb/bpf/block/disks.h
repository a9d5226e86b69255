/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* disks: what loaders and programs share of who had I/O on a disk that traced threads waited for.
 */
#pragma once

#include <plumb/bpf/core/types.h>

/* Users of disks; the first is the rest, of which there was no room. */
#define PLUMB_DISK_USERS 1024
/* Disks that were waited for. */
#define PLUMB_DISKS 256

/* Pairs of a cgroup and a disk that have a limit. */
#define PLUMB_DISK_LIMITS 1024
/* Cgroups above one another whose limits are looked for. */
#define PLUMB_DISK_DEPTH 8

enum plumb_disk_user_kind {
	PLUMB_DISK_PROCESS,
	PLUMB_DISK_KTHREAD, /* a thread of the kernel */
	PLUMB_DISK_WORKER,  /* one that works for a work queue, after which it is named */
};

struct plumb_disk_user {
	__u64 cgroup;  /* to which the data belong that a worker reads or writes; 0: the root, or
			  not known */
	__u32 dev;     /* the disk: major << 20 | minor */
	__u32 kind;    /* enum plumb_disk_user_kind */
	__u32 pid;     /* 0: a worker */
	__u32 traced;  /* its threads are selected by the filters */
	char name[24]; /* of a process its main thread's */
};
_Static_assert(sizeof(struct plumb_disk_user) == 48, "no hidden padding in a hash key");

enum plumb_disk_op {
	PLUMB_DISK_READ,
	PLUMB_DISK_WRITE,
	PLUMB_DISK_DISCARD,
	PLUMB_DISK_FLUSH, /* of no bytes */
	PLUMB_DISK_OPS
};

/* Bios that ended while traced threads waited for the disk. */
struct plumb_disk_sum {
	__u64 count[PLUMB_DISK_OPS], bytes[PLUMB_DISK_OPS];
};

struct plumb_disk {
	__s64 waiting; /* threads that wait for it now */
	__u64 count;   /* waits that are over, */
	__u64 ns;      /* and their time */
};

/* A limit of I/O; the value of the map is the number of waits of threads that obey it. */
struct plumb_disk_limit {
	__u64 cgroup;
	__u32 dev, pad;
};
