/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* slab: from what is known of an allocation or a free to its row, for all mechanisms. */
#pragma once

#include <plumb/bpf/core/totals.bpf.h>
#include <plumb/bpf/hist/hist.h>
#include "slab-latency.h"

#define PLUMB_KEY struct slab_key
#include <plumb/bpf/key/key-cpu.bpf.h>

/* Preallocated: the programs run inside the allocator. */
PLUMB_MAP(slab_caches, HASH, SLAB_CACHES, __u64, struct slab_cache);

/* From 6.13 on. */
extern struct kmem_cache *bpf_get_kmem_cache(__u64 address) __ksym __weak;

/* 0: it is of none, or the kernel does not say. */
static __always_inline __u64 slab_cache_of(__u64 object)
{
	return object && bpf_get_kmem_cache ? (__u64)bpf_get_kmem_cache(object) : 0;
}

struct slab_call {
	__u64 cache; /* as in the key; 0: to be found by size and flags */
	__u64 caller;
	__u64 asked, given; /* bytes; 0: those of an object of the cache */
	__u32 gfp;
	__s32 node;
	__u8 op, path;
};

/* Not inlined: a cache is new only once. NULL: there are too many caches. */
static __noinline struct slab_cache *slab_cache_add(__u64 cache)
{
	struct kmem_cache *s = (struct kmem_cache *)cache;
	struct slab_cache c = {};

	bpf_probe_read_kernel(&c.cache, sizeof(c.cache), &cache); /* a number, no typed pointer */
	c.object_size = BPF_CORE_READ(s, object_size);
	c.size = BPF_CORE_READ(s, size);
	bpf_probe_read_kernel_str(c.name, sizeof(c.name), BPF_CORE_READ(s, name));
	bpf_map_update_elem(&slab_caches, &cache, &c, BPF_NOEXIST);
	return bpf_map_lookup_elem(&slab_caches, &cache);
}

/* As kmalloc_index() in include/linux/slab.h, with caches from 8 bytes on. */
static __always_inline __u32 slab_class(__u64 size)
{
	if (!size)
		return SLAB_CLASS_ZERO;
	if (size > 1ULL << slab_config.largest)
		return SLAB_CLASS_PAGES;
	if (size <= 8)
		return 3;
	if (size > 64 && size <= 96)
		return 1;
	if (size > 128 && size <= 192)
		return 2;
	return plumb_log2(size - 1) + 1;
}

static __always_inline __u64 slab_class_size(__u32 class, __u64 asked)
{
	switch (class) {
	case SLAB_CLASS_ZERO:
		return 0;
	case 1:
		return 96;
	case 2:
		return 192;
	case SLAB_CLASS_PAGES:
		class = plumb_log2(asked - 1) + 1;
		/* fall through */
	default:
		return 1ULL << (class & 63);
	}
}

/* include/linux/gfp_types.h; these have not changed since 5.10. */
#define GFP_DMA         0x1
#define GFP_RECLAIMABLE 0x10
#define GFP_ACCOUNT     0x400000

/* As kmalloc_type() in include/linux/slab.h. */
static __always_inline __u32 slab_type(__u32 gfp)
{
	if (gfp & GFP_DMA)
		return SLAB_DMA;
	if (gfp & GFP_RECLAIMABLE)
		return SLAB_RECLAIMABLE;
	if (gfp & GFP_ACCOUNT &&
	    bpf_core_enum_value_exists(enum kmalloc_cache_type, KMALLOC_CGROUP)) /* 5.14 */
		return SLAB_ACCOUNTED;
	return SLAB_NORMAL;
}

/* Completes the cache and the sizes. */
static __always_inline void slab_complete(struct slab_call *c)
{
	struct slab_cache *known;
	__u64 cache;
	__u32 class;

	if (!c->cache) {
		class = slab_class(c->asked);
		c->cache = SLAB_KMALLOC(class, class < 64 ? slab_type(c->gfp) : 0);
		if (!c->given)
			c->given = slab_class_size(class, c->asked);
		return;
	}
	if (SLAB_IS_KMALLOC(c->cache)) {
		/* Of a typed pointer, as the verifier sees it, this makes a number. */
		asm("%0 = %1" : "=w"(class) : "w"((__u32)c->cache));
		c->cache = class;
		return;
	}
	known = bpf_map_lookup_elem(&slab_caches, &c->cache);
	if (!known)
		known = slab_cache_add(c->cache);
	if (!known) {
		bpf_probe_read_kernel(&cache, sizeof(cache), &c->cache);
		c->cache = cache;
		return;
	}
	c->cache = known->cache;
	if (c->op == SLAB_BULK) { /* asked: the number of objects */
		c->given = c->asked * known->size;
		c->asked *= known->object_size;
		return;
	}
	if (!c->asked)
		c->asked = known->object_size;
	if (!c->given)
		c->given = known->size;
}

/* include/linux/preempt.h */
#define COUNT_SOFTIRQ      0x00000100 /* one is served, not only disabled */
#define COUNT_HARDIRQ      0x00ff0000 /* or an NMI */
#define COUNT_HARDIRQ_LONG 0x7f000000 /* where a part was inserted (7.x) */

#if defined(__TARGET_ARCH_arm64)

static __always_inline bool slab_read_count(struct task_struct *task, __u32 cpu, __u32 *count)
{
	*count = BPF_CORE_READ(task, thread_info.preempt.count);
	return true;
}

#else

/* pcpu_hot: on x86, from 6.2 to 6.14. */
struct pcpu_hot___slab {
	int preempt_count;
} __attribute__((preserve_access_index));

/*
 * The variable itself could only be read by its BTF ID, which libbpf cannot write into functions
 * that are not inlined, and 5.10 does not have it.
 */
static __always_inline bool slab_read_count(struct task_struct *task, __u32 cpu, __u32 *count)
{
	__u64 at = 0;

	if (!slab_config.preempt_count ||
	    bpf_probe_read_kernel(&at, sizeof(at), (void *)(slab_config.cpu_offsets + 8ULL * cpu)))
		return false;
	at += slab_config.preempt_count;
	if (bpf_core_field_exists(struct pcpu_hot___slab, preempt_count))
		at += bpf_core_field_offset(struct pcpu_hot___slab, preempt_count);
	return !bpf_probe_read_kernel(count, sizeof(*count), (void *)at);
}

#endif

static __always_inline enum slab_context slab_context(struct task_struct *task, __u32 cpu)
{
	__u32 hardirq = slab_config.count_is_long ? COUNT_HARDIRQ_LONG : COUNT_HARDIRQ, count = 0;

	if (!slab_read_count(task, cpu, &count))
		return SLAB_CONTEXT_UNKNOWN;
	return count & hardirq         ? SLAB_INTERRUPT
	       : count & COUNT_SOFTIRQ ? SLAB_SOFTIRQ
				       : SLAB_THREAD;
}

static __always_inline __u32 slab_slot(struct task_struct *task, const struct slab_call *c,
				       __u32 cpu)
{
	struct slab_key key = {};

	if (plumb_config.by & SLAB_BY_CACHE)
		key.cache = c->cache;
	if (plumb_config.by & SLAB_BY_CALLER)
		key.caller = c->caller;
	if (plumb_config.by & SLAB_BY_PATH)
		key.path = c->path;
	if (plumb_config.by & SLAB_BY_OP)
		key.op = c->op;
	if (plumb_config.by & SLAB_BY_ASKED)
		key.asked = c->asked;
	if (plumb_config.by & SLAB_BY_GIVEN)
		key.given = c->given;
	if (plumb_config.by & SLAB_BY_NODE)
		key.node = c->node;
	if (plumb_config.by & SLAB_BY_CONTEXT)
		key.context = slab_context(task, cpu);
	return key_cpu_slot(task, &key, cpu);
}

/* The bytes of a call that succeeded. */
static __always_inline void slab_add_bytes(struct plumb_totals *totals, const struct slab_call *c)
{
	/* Clang makes another operation of an addition of 0, which 5.10 does not have. */
	if (c->asked)
		plumb_add(totals->counters[0], c->asked);
	if (c->given)
		plumb_add(totals->counters[1], c->given);
}
