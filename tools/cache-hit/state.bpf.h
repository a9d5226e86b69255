/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* state: what is known of a thread: the files of its call, and its last page fault. */
#pragma once

#include <plumb/bpf/core/types.h>

#define CACHE_RUNS 8 /* a power of two */

/* Of a file in a call. */
struct cache_file {
	__u64 fd;   /* as syscall_key.fd */
	__u64 file; /* struct file */
	/* What it was when it was described: if it is the same, FD, ALL and TMPFS are, too. */
	__u64 inode, number, super; /* struct inode, its number, struct super_block; 0: none */
	__u32 generation;
	__u32 tmpfs;
	__u64 all;      /* its struct address_space; 0: of overlayfs, and not known */
	__u64 mapping;  /* struct address_space, whose pages are counted; 0: none, as of O_DIRECT */
	__u64 position; /* at which the call begins, bytes */
	__u64 first,
		last; /* pages that are asked for; of buffers of unknown length the last is ~0 */
	/* The last runs of pages that were added, high not included, and those before them. */
	struct {
		__u64 low, high;
	} runs[CACHE_RUNS];
	__u64 n_runs, missed, ahead;
	__u64 offset; /* where in memory the position is that the call updates; 0: none */
	__u64 pages;  /* of the mapping, when the call begins */
	__u64 unseen; /* it is not known whose pages they are: UNSEEN_OVERLAY ...; 0: it is */
};

#define UNSEEN_OVERLAY 1
#define UNSEEN_COPY    2

#define ANY_PAGE (~0ULL)

/* A page fault of a mapped file, the last one. */
struct cache_fault {
	__u64 mapping; /* struct address_space; 0: none */
	__u64 index;   /* of the page that it needs; ANY_PAGE */
	__u64 counted; /* faults of the thread that the kernel had counted before */
	__u32 slot;
	__u32 missed;
};

struct cache_thread {
	struct cache_file;    /* that is read or written */
	struct cache_file to; /* to which the other one is copied */
	struct cache_fault fault;
};
