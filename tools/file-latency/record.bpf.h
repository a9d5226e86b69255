/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* record: an operation that has ended becomes part of its row. */
#pragma once

#include "describe.bpf.h"
#define PLUMB_KEY struct file_key
#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>

struct file_call {
	__u64 ns;
	__u64 bytes;
	__u32 op;     /* as in file_key */
	__u32 error;  /* positive errno, 0 for success */
	__u32 cache;  /* enum file_cache */
	__u32 result; /* of a function, for waits on the way out */
};

/* Fill in the tool's part of KEY, which is zero. */
static __always_inline void file_fill(struct file_key *key, const struct file_facts *facts,
				      const struct file_call *c)
{
	__u32 by = plumb_config.by;

	if (by & FILE_BY_FS)
		__builtin_memcpy(key->fs, facts->fs, sizeof(key->fs));
	if (by & (FILE_BY_MOUNT | FILE_BY_FILE))
		key->id = facts->id;
	if (by & FILE_BY_OP)
		key->op = c->op;
	if (by & FILE_BY_FLAGS)
		key->flags = facts->flags & ~FILE_UNCACHED;
	if (by & FILE_BY_SIZE)
		key->size = c->bytes ? 1ULL << plumb_log2(c->bytes) : 0;
	if (by & FILE_BY_CACHE)
		key->cache = c->cache;
	if (by & FILE_BY_ERRNO)
		key->error = c->error;
}

/*
 * Add an operation N times, 1 or -1: for requests, which can end in an interrupt; and for the row
 * that they may share, [other].
 */
static __always_inline void file_add_atomically(__u32 slot, __u32 cpu, const struct file_call *c,
						__u64 n)
{
	__u32 at = hist_at(slot, cpu), i = plumb_hist_index(c->ns, plumb_config.precision);
	__u64 *buckets = bpf_map_lookup_elem(&plumb_hists, &at);
	struct plumb_totals *totals;
	__u64 *bucket;

	if (!buckets)
		return;
	bucket = hist_bucket(buckets, i);
	if (!bucket)
		return;
	totals = plumb_config.exclusive ? (struct plumb_totals *)(buckets + plumb_config.buckets)
					: totals_of(slot, cpu);
	if (!totals)
		return;
	atomic_add(bucket, n);
	atomic_add(&totals->errors, !!c->error * n);
	atomic_add(&totals->sum, c->ns * n);
	atomic_add(&totals->counters[0], c->bytes * n);
	if (n != 1)
		return;
	if (c->ns > totals->max)
		totals->max = c->ns;
	if (~c->ns > totals->inverted_min)
		totals->inverted_min = ~c->ns;
}

static __always_inline void file_add(__u32 slot, __u32 cpu, const struct file_call *c, __u64 n)
{
	__u32 at = hist_at(slot, cpu);
	struct plumb_totals *totals;

	if (unlikely(!slot)) {
		file_add_atomically(slot, cpu, c, n);
		return;
	}
	totals = hist_add(&at, c->ns, c->error, c->ns, true, n);
	if (totals)
		plumb_add(totals->counters[0], c->bytes * n);
}

/* The slot of an operation of the current thread. */
static __noinline __u32 file_slot(struct task_struct *task, const struct file_facts *facts,
				  const struct file_call *c)
{
	struct file_key key = {};

	if (!facts || !c)
		return 0;
	file_fill(&key, facts, c);
	return key_cpu_slot(task, &key, bpf_get_smp_processor_id());
}

static __always_inline __u64 file_bytes(__u32 op, long ret, __u64 length)
{
	switch (op) {
	case FILE_OPEN:
	case FILE_FSYNC:
	case FILE_SYNC_RANGE:
		return 0;
	case FILE_MMAP:
		return length;
	default:
		return ret;
	}
}

/*
 * The pages that threads add to the page cache: by thread that is inside a traced call, 1 if it has
 * added one. If the kernel evicts a thread, it is not known whether its call was a miss.
 */
PLUMB_MAP(file_misses, LRU_HASH, 1 /* set by the loader if rows are grouped by cache */, __u64,
	  __u32);

static __always_inline void cache_begin(struct task_struct *task)
{
	__u64 key = (__u64)task;
	__u32 *missed, none = 0;

	if (!(plumb_config.by & FILE_BY_CACHE))
		return;
	missed = bpf_map_lookup_elem(&file_misses, &key);
	if (missed)
		*missed = 0;
	else
		bpf_map_update_elem(&file_misses, &key, &none, BPF_ANY);
}

static __always_inline __u32 cache_end(struct task_struct *task, __u32 op, __u32 flags)
{
	__u64 key = (__u64)task;
	__u32 *missed;

	if (!(plumb_config.by & FILE_BY_CACHE) || (op != FILE_READ && op != FILE_WRITE))
		return FILE_CACHE_NONE;
	if (flags & 1 << FILE_DIRECT)
		return FILE_CACHE_DIRECT;
	missed = bpf_map_lookup_elem(&file_misses, &key);
	if (!missed)
		return FILE_CACHE_NONE;
	if (*missed)
		return FILE_CACHE_MISS;
	/* Then the data have not come from there: of FUSE without it, of proc, of DAX. */
	return flags & FILE_UNCACHED ? FILE_CACHE_NONE : FILE_CACHE_HIT;
}

/* Loaded if rows are grouped by cache. */
SEC("raw_tp/mm_filemap_add_to_page_cache")
int page_added(void *ctx __attribute__((unused)))
{
	__u64 key = (__u64)current_task();
	__u32 *missed = bpf_map_lookup_elem(&file_misses, &key);

	if (missed)
		*missed = 1;
	return 0;
}
