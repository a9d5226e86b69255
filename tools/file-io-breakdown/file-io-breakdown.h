/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of file-io-breakdown. */
#pragma once

#include <plumb/bpf/syscall/syscall.h>

/* Keys that the tool adds to --by, in addition to those of system calls. */
#define IO_BY_FS   (PLUMB_BY_TOOL << 2)
#define IO_BY_DISK (PLUMB_BY_TOOL << 3)

#define IO_NAME_LEN 16

/* Bios and requests in flight; beyond them, the time in them is not explained. */
#define IO_BIOS     65536
#define IO_REQUESTS 32768
#define IO_DISKS    1024

/* The parts of the time of a call.  Those from IO_DEVICE on divide the time in which it sleeps. */
enum io_part {
	IO_IRQ,
	IO_PREEMPTED,
	IO_RUNQ,
	IO_WAKE,         /* woken, while the CPU on which it then runs is idle */
	IO_RETURN,       /* any of these and asleep, behind its end, on its way out (return.h) */
	IO_DEVICE,       /* a request of the call is in the device */
	IO_QUEUE,        /* its I/O is in the block layer, and nothing of it in the device */
	IO_OTHER_DEVICE, /* it waits for I/O of others, of which a request is in the device */
	IO_OTHER_QUEUE,
	IO_LIMIT, /* a limit of its cgroup holds it back, or may do so, as no I/O explains it */
	IO_CACHE, /* it waits for the page cache, and no I/O explains it */
	IO_FS,    /* it waits in the file system, the same */
	IO_UNEXPLAINED, /* none of these */
	IO_PARTS,       /* parts in which it does not run */
	IO_ON_CPU = IO_PARTS,
	IO_ALL_PARTS,
};

/* What a thread that has left its CPU waits for, by its stack. */
enum io_wait {
	IO_RUNS, /* for nothing: it is runnable */
	IO_WAITS,
	IO_WAITS_FS_ONLY, /* in the file system, for what no I/O ends: a lock, a server */
	IO_WAITS_LIMIT,   /* until a limit of its cgroup lets it go on */
	/* I/O of others can end these. */
	IO_WAITS_IO, /* the kernel counts the sleep as I/O (task_struct.in_iowait) */
	IO_WAITS_CACHE,
	IO_WAITS_FS,
};

/* A function of the kernel in which a thread waits. */
struct io_place {
	__u64 from, to; /* addresses: FROM <= address < TO */
	__u64 wait;     /* enum io_wait */
};
#define IO_PLACES 64 /* a power of two */

struct io_config {
	__u64 slower_ns; /* ns: calls of which a record is made; ~0: none */
	__u32 n_places;
	__u32 sees_limits; /* bios that a limit of a cgroup holds back are seen */
};

struct io_key {
	struct syscall_key call;
	char fs[IO_NAME_LEN]; /* type of the file system */
	__u32 dev;            /* of the disk: major << 20 | minor; 0: none */
	__u32 pad;
};
_Static_assert(sizeof(struct io_key) == 104, "no hidden padding in a hash key");

/* A thread that has submitted a bio. */
struct io_submitter {
	__u32 pid, tid; /* tid is 0: none */
	char comm[PLUMB_COMM_LEN];
};

/* What a call has waited for. */
struct io_waited {
	__u64 off[IO_PARTS];       /* ns */
	struct io_submitter other; /* of the I/O of others that it waited for last */
	char fs[IO_NAME_LEN];
	__u32 dev, pad;
};

/* A call, for --slower. */
struct io_record {
	__u64 end; /* ns, CLOCK_MONOTONIC */
	__u64 ns;
	struct io_waited waited;
	__s64 ret;
	__u64 cgroup;
	__u32 pid, tid;
	__u32 nr, abi;
	__u32 cpu;
	/* With --stacks: the user stack (stacks.h) where it was made, of this process. */
	__s32 user;
	__u32 tgid, pad;
	char comm[PLUMB_COMM_LEN];
};

/* A call that has not ended. */
struct io_so_far {
	struct io_waited waited;
	__u32 in, pad; /* enum io_part: where it is; IO_ALL_PARTS: it has ended */
};

/* What else happened, in the whole run. */
struct io_counts {
	__u64 bios, requests; /* followed */
	__u64 lost;           /* not followed: too many in flight */
	__u64 replaced;       /* whose end was not seen */
	__u64 exceeded;       /* sleeps shorter than what explains them */
	__u64 outside;        /* bios that traced threads submitted in no traced call */
	__u64 dropped;        /* records of single calls for which there was no room */
};
