/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of slab-latency. */
#pragma once

#include <plumb/bpf/key/key.h>

/* Keys that the tool adds to --by. */
#define SLAB_BY_CACHE   (PLUMB_BY_TOOL << 0)
#define SLAB_BY_CALLER  (PLUMB_BY_TOOL << 1)
#define SLAB_BY_PATH    (PLUMB_BY_TOOL << 2)
#define SLAB_BY_OP      (PLUMB_BY_TOOL << 3)
#define SLAB_BY_ASKED   (PLUMB_BY_TOOL << 4)
#define SLAB_BY_GIVEN   (PLUMB_BY_TOOL << 5)
#define SLAB_BY_NODE    (PLUMB_BY_TOOL << 6)
#define SLAB_BY_CONTEXT (PLUMB_BY_TOOL << 7)

/* What a function or an event does. */
enum slab_what {
	SLAB_ALLOC,
	SLAB_BULK,      /* allocates many objects in one call */
	SLAB_FREE,      /* of an object of a cache that the caller names */
	SLAB_KFREE,     /* of an object of any cache */
	SLAB_BULK_FREE, /* of many objects, of one cache or of any */
	SLAB_REFILL, /* a part of these: objects that are not the CPU's own are taken or given back
		      */
	SLAB_NEW,    /* a part: pages are allocated */
};

/* What runs on the CPU: a thread, or what has interrupted it. */
enum slab_context {
	SLAB_CONTEXT_UNKNOWN,
	SLAB_THREAD,
	SLAB_SOFTIRQ,
	SLAB_INTERRUPT, /* or an NMI */
	SLAB_CONTEXTS
};

/* As far as a call came; of bits, which a part adds to the call that it is in. */
enum slab_path {
	SLAB_FAST,
	SLAB_SLOW, /* SLAB_REFILL */
	SLAB_PAGE, /* SLAB_NEW, with or without SLAB_SLOW */
	SLAB_PATHS = 4
};

/* Where a function has its arguments: their positions as in function.h, or PLUMB_NO_ARG. */
struct slab_function {
	__u8 what;  /* enum slab_what */
	__u8 cache; /* of SLAB_KFREE: the object */
	__u8 size, gfp, node, caller;
	__u8 buckets;        /* 1: the cache is in the array of pointers to which "cache" points */
	__u8 may_be_virtual; /* 1: what it returns need not be an object */
};

/* Functions of which the tool knows the arguments: a power of two. */
#define SLAB_FUNCTIONS 32

/*
 * In place of the address of a kmem_cache: one of kmalloc's, by class and type, where the kernel
 * does not say which cache an object comes from.
 */
#define SLAB_KMALLOC(class, type) ((class) | (type) << 8)
#define SLAB_IS_KMALLOC(cache)    ((cache) < 1 << 16)
#define SLAB_CLASS(cache)         ((cache)&0xff)
#define SLAB_TYPE(cache)          ((cache) >> 8)

/* kmalloc's classes are the kernel's numbers of these caches: 1 for 96, 2 for 192 bytes, else the
 * power of two. */
#define SLAB_CLASS_PAGES 64 /* larger than all caches: whole pages */
#define SLAB_CLASS_ZERO  65 /* kmalloc(0) allocates nothing */
#define SLAB_UNKNOWN     SLAB_KMALLOC(66, 0)

enum slab_type { SLAB_NORMAL, SLAB_DMA, SLAB_RECLAIMABLE, SLAB_ACCOUNTED };

/* Addresses, TO not included. */
struct slab_range {
	__u64 from, to;
};

#define SLAB_KMALLOCS 4

struct slab_config {
	__u32 largest; /* class of kmalloc's largest cache */
	/* Whether the events pass the kmem_cache (6.1), else sizes and, of a free, nothing. */
	__u32 alloc_has_cache, free_has_cache;
	/* Of the preemption count: it has a part more, by which 7.x counts who disabled interrupts.
	 */
	__u32 count_is_long;
	/* Addresses on x86: of that count, relative to a CPU's data, and of where the latter is; 0:
	 * not known. */
	__u64 preempt_count, cpu_offsets;
	/* The functions of kmalloc within which another event of the same large object fires. */
	struct slab_range kmallocs[SLAB_KMALLOCS];
	struct slab_function at[SLAB_FUNCTIONS]; /* by the index of the function */
};

struct slab_cache {
	__u64 cache; /* its address */
	__u32 object_size, size;
	char name[32];
};

/* Caches that the programs have seen. */
#define SLAB_CACHES 1024

struct slab_key {
	struct plumb_who who;
	__u64 cache; /* address of the kmem_cache, or SLAB_KMALLOC() */
	__u64 caller;
	__u32 asked, given;
	__s32 node; /* -1: any */
	__u8 op;    /* enum slab_what, before SLAB_REFILL */
	__u8 path;
	__u8 context; /* enum slab_context */
	__u8 pad;
};
_Static_assert(sizeof(struct slab_key) == 88, "no hidden padding in a hash key");
