/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of block-io-latency. */
#ifndef BLOCK_IO_LATENCY_H
#define BLOCK_IO_LATENCY_H

#include <plumb/bpf/block/request.h>
#include <plumb/bpf/key/key.h>

/* Keys that the tool adds to --by. */
#define BLOCK_BY_DISK  (PLUMB_BY_TOOL << 0)
#define BLOCK_BY_PART  (PLUMB_BY_TOOL << 1)
#define BLOCK_BY_OP    (PLUMB_BY_TOOL << 2)
#define BLOCK_BY_FLAGS (PLUMB_BY_TOOL << 3)
#define BLOCK_BY_SIZE  (PLUMB_BY_TOOL << 4)
#define BLOCK_BY_ERRNO (PLUMB_BY_TOOL << 5)

/* Requests in flight; beyond them, requests are lost. */
#define BLOCK_REQUESTS 32768

enum block_stage { BLOCK_WHOLE, BLOCK_QUEUED, BLOCK_DEVICE };

struct block_key {
	struct plumb_who who; /* the thread that made the request */
	char disk[BLOCK_DISK_LEN];
	__u64 size; /* the lowest of its class, bytes */
	__u32 dev;  /* of the partition, or of the disk: major << 20 | minor */
	__u32 op, flags;
	__u32 error; /* positive errno, or blk_status_t (block_config.has_status); 0: success */
};
_Static_assert(sizeof(struct block_key) == 112, "no hidden padding in a hash key");

/* A request in flight. */
struct block_request {
	struct block_key key;
	__u64 start;  /* ns, CLOCK_MONOTONIC: it was made; 0: it has ended */
	__u64 issued; /* the last time that it was passed to the driver; 0: not yet */
	__u64 done;   /* its data were transferred, and a flush has to follow; 0: no such thing */
	__u64 sector;
	__u32 bytes;
	__u32 inserted; /* it was in a scheduler's queue */
	__u32 rejected; /* not traced */
	__u32 described;
	__u32 pid, tid;
};
_Static_assert(sizeof(struct block_request) == 168, "no hidden padding in a map's value");

/* What else happened to traced requests. */
struct block_counts {
	__u64 bypassed; /* recorded requests that no scheduler queued */
	__u64 requeued; /* times */
	__u64 partial;  /* completions of a part of a request */
	__u64 merged;   /* requests that became part of another */
	__u64 bios;     /* bios that became part of a request that existed */
};

#endif
