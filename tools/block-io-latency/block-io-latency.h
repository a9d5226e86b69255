/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of block-io-latency. */
#pragma once

#include <plumb/bpf/block/request.h>
#include <plumb/bpf/key/key.h>

/* Keys that the tool adds to --by. */
#define BLOCK_BY_DISK  (PLUMB_BY_TOOL << 0)
#define BLOCK_BY_PART  (PLUMB_BY_TOOL << 1)
#define BLOCK_BY_OP    (PLUMB_BY_TOOL << 2)
#define BLOCK_BY_FLAGS (PLUMB_BY_TOOL << 3)
#define BLOCK_BY_SIZE  (PLUMB_BY_TOOL << 4)
#define BLOCK_BY_ERRNO (PLUMB_BY_TOOL << 5)
#define BLOCK_BY_STAGE (PLUMB_BY_TOOL << 6)

/* Requests in flight; beyond them, requests are lost. */
#define BLOCK_REQUESTS 32768

/* The stages of a request follow each other: before + queued + device = whole. */
enum block_stage { BLOCK_WHOLE, BLOCK_BEFORE, BLOCK_QUEUED, BLOCK_DEVICE, BLOCK_STAGES };

struct block_key {
	struct plumb_who who; /* the thread that submitted the request */
	char disk[BLOCK_DISK_LEN];
	__u64 size; /* the lowest of its class, bytes */
	__u32 dev;  /* of the partition, or of the disk: major << 20 | minor */
	__u32 op, flags;
	__u32 error; /* positive errno, or BLOCK_STATUS + blk_status_t; 0: success */
	__u32 stage, pad;
};
_Static_assert(sizeof(struct block_key) == 120, "no hidden padding in a hash key");

#define BLOCK_STATUS 0x100

/* A request in flight, or a bio that has no request (yet). */
struct block_request {
	struct block_key key;
	__u64 start;    /* ns, CLOCK_MONOTONIC: it was submitted; 0: it has ended */
	__u64 inserted; /* it was first queued; 0: not yet, or it bypassed the queue */
	__u64 issued; /* the last time that it was passed to the driver; 0: not yet, or requeued */
	__u64 id;     /* its key in the map */
	__u64 disk;   /* of a bio: the address of its disk */
	__u64 sector;
	__u32 bytes;
	__u32 scheduled; /* block_rq_insert was seen */
	__u32 rejected;  /* not traced */
	__u32 merged;    /* a bio before others of a request, whose state is not this one */
	__u32 described;
	__u32 pid, tid;
	__u32 was_issued;
	__u32 left;                /* bytes that were left before the last completion of a part */
	__u32 early;               /* it was seen before block_bio_queue */
	char comm[PLUMB_COMM_LEN]; /* with block_selection.slower */
};
_Static_assert(sizeof(struct block_request) == 224, "no hidden padding in a map's value");

/* A request that took at least block_selection.min_ns. */
struct block_slow {
	__u64 end; /* ns, CLOCK_MONOTONIC */
	__u64 ns[BLOCK_STAGES];
	__u64 sector;
	__u32 bytes, dev, op, flags, error, pid, tid, pad;
	char disk[BLOCK_DISK_LEN];
	char comm[PLUMB_COMM_LEN];
};

/* What else happened to traced requests, on one CPU. */
struct block_counts {
	__u64 bypassed; /* recorded requests that were not queued */
	__u64 requeued; /* times */
	__u64 partial;  /* completions of a part of a request */
	__u64 merged;   /* requests that became part of another */
	__u64 bios;     /* bios that became part of a request that existed */
	__u64 passed;   /* recorded bios that ended without a request of their disk */
	__u64 pad[2];
};
_Static_assert(sizeof(struct block_counts) == 64, "one cache line a CPU");

/* Of a disk, on one CPU, where threads are selected. */
struct block_disk {
	__u64 traced; /* recorded requests */
	__u64 others; /* requests that ended and were not of selected threads */
};

#define BLOCK_DISKS 1024

/* Which requests are recorded, and how. */
struct block_selection {
	__u64 min_ns;      /* shorter ones are not recorded */
	__u32 slower;      /* 1: recorded requests are also sent one by one */
	__u32 preemptible; /* 1: programs can be preempted */
};
