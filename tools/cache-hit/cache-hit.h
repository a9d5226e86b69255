/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of cache-hit. */
#pragma once

#include <plumb/bpf/syscall/syscall.h>

/* What the arguments of a call say: bits of cache_calls. */
#define CACHE_POSITION 1 /* the fourth is the position in the file */
#define CACHE_VECTOR   2 /* the third is a number of buffers, not of bytes */
#define CACHE_WRITE    4
#define CACHE_SENDFILE 8  /* to, from, where its position is, bytes */
#define CACHE_SPLICE   16 /* from, where its position is, to, where its position is, bytes */
#define CACHE_COPY     32 /* the same; both have pages */
#define CACHE_TO       64 /* of these the second one; in no argument */

/* In place of a call, in keys. */
#define CACHE_FAULT 0xffffffff

/* In plumb_totals.counters: pages.  Its member sum has those that were read ahead and removed. */
enum { CACHE_HITS, CACHE_MISSES, CACHE_AHEAD };

/* Pages that were read ahead, and are in the page cache and not used yet. */
#define AHEAD_PAGES  32    /* of a file, in a block; a power of two */
#define AHEAD_BLOCKS 16384 /* with such pages, at most */

struct ahead_key {
	__u64 mapping; /* struct address_space */
	__u64 block;
};

struct ahead_block {
	__u32 rows[AHEAD_PAGES]; /* 1 + the slot of the row that read it ahead; 0: none */
};
