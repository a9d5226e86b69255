/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of block-io-latency. */
#pragma once

#include <plumb/bpf/block/request.h>
#include <plumb/bpf/core/copies.h>
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
/* As many of them, a power of two, have a slot by the hash of an address. */
#define BLOCK_HASH_BITS 12

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

/*
 * A request in flight, or a bio that has no request (yet), in its slot.  All that each request
 * needs is in the first cache line.
 */
struct block_request {
	__u64 id;       /* the address by which it is found; 0: the slot is free */
	__u64 start;    /* ns, CLOCK_MONOTONIC: it was submitted */
	__u64 inserted; /* it was first queued; 0: not yet, or it bypassed the queue */
	__u64 issued; /* the last time that it was passed to the driver; 0: not yet, or requeued */
	__u64 sector;
	__u32 bytes;
	__u32 error; /* as in its key */
	__u8 op;
	__u8 scheduled; /* block_rq_insert was seen */
	__u8 rejected;  /* not traced */
	__u8 merged;    /* a bio before others of a request, whose state is not this one */
	__u8 described;
	__u8 was_issued;
	__u8 early; /* it was seen before block_bio_queue */
	__u8 pad;
	__u32 claims;  /* by programs that took the slot, or tried to */
	__u32 spilled; /* 1: it is not in the slot of its address, but in block_spills */
	__u64 disk;    /* of a bio: the address of its disk */
	__u32 dev;     /* of the partition, or of the disk */
	__u32 flags;   /* as submitted, the kernel's */
	__u32 pid, tid;
	__u32 requeued;
	__u32 left; /* bytes that were left before the last completion of a part */
	__u32 seen_requeued[PLUMB_COPIES]; /* by each copy of the program */
	char comm[PLUMB_COMM_LEN];         /* with block_selection.slower */
	struct plumb_who who;              /* as in its key */
	__u64 last;
};
_Static_assert(sizeof(struct block_request) == 192, "three cache lines");

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
	__u64 own;      /* requests of the tool that ended */
	__u64 driver;   /* commands for the driver that ended */
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
	__u64 min_ns; /* shorter ones are not recorded */
	__u32 slower; /* 1: recorded requests are also sent one by one */
	__u32 stages; /* 1: the stages of requests are wanted */
};
