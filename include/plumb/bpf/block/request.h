/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* request: what loaders and programs of tools that trace block requests share. */
#pragma once

#include <plumb/bpf/core/types.h>

#define BLOCK_DISK_LEN 32 /* DISK_NAME_LEN of the kernel */

/* Operations, which have other numbers in other kernels. */
enum block_op {
	BLOCK_READ,
	BLOCK_WRITE,
	BLOCK_FLUSH,
	BLOCK_DISCARD,
	BLOCK_SECURE_ERASE,
	BLOCK_WRITE_ZEROES,
	BLOCK_DRIVER, /* a command that is passed through to the driver */
	BLOCK_OTHER,
	BLOCK_OPS,
};

/* Bits of block_key.flags. */
enum { BLOCK_SYNC, BLOCK_META, BLOCK_READAHEAD, BLOCK_FUA, BLOCK_POLLED, BLOCK_FLAGS };

/* What programs have to know of this kernel's requests and hooks. */
struct block_config {
	__u32 made_by_bio; /* block_getrq, which names the bio, says that a request was made */
	__u32 flush_seq;   /* the flag RQF_FLUSH_SEQ */
	__u32 has_status;  /* errors are of type blk_status_t, not negative errnos */
	/* The position of the request or bio among the arguments; the queue may precede it. */
	__u32 arg_queue, arg_split, arg_made, arg_merge, arg_insert, arg_issue, arg_requeue;
	__u32 arg_backmerge, arg_frontmerge, arg_bio_complete, arg_remap;
};
