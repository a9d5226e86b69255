/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "block-io-latency.h"

#define PLUMB_KEY struct block_key
#include <plumb/bpf/core/copies.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>

#include "record.bpf.h"
#include "state.bpf.h"

struct block_counts block_counts[PLUMB_LEDGERS] = {};

#define count(what)                                                                                \
	atomic_add(&block_counts[bpf_get_smp_processor_id() & (PLUMB_LEDGERS - 1)].what, 1)

/* The latest flush of a device, by the hardware queue of those for whom it was made. */
struct device_flush {
	__u64 issued, done; /* ns */
};

PLUMB_MAP(block_flushes, LRU_HASH, 4096, __u64, struct device_flush);

/* --- beginnings --- */

/* 1: there was a bio in a cgroup that is throttled. */
__u32 block_throttled = 0; /* not static: clang would make a byte of it, and BTF says otherwise */

/*
 * __blk_throtl_bio() and, before it existed, blk_throtl_bio(): the bio may have to wait, and a
 * thread of the kernel submits it then.
 */
SEC("fentry/__blk_throtl_bio")
int bio_throttled(__u64 *ctx)
{
	struct bio *bio = (struct bio *)argument(ctx, 0);
	struct block_request *s = request_at((__u64)bio);

	if (s)
		return 0;
	begin(bio, false, 0);
	s = request_at((__u64)bio);
	if (s)
		s->early = 1;
	block_throttled = 1;
	return 0;
}

static __always_inline bool began_early(struct bio *bio)
{
	struct block_request *s = block_throttled ? request_at((__u64)bio) : NULL;

	if (!s || !s->early)
		return false;
	s->early = 0;
	return true;
}

PROGRAM_COPIES(bio_submitted, "tp_btf/block_bio_queue")
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_queue);

	if (began_early(bio)) {
		if (copy)
			ledger_count(bpf_get_smp_processor_id(), rescued);
		return 0;
	}
	if (!copy || !request_at((__u64)bio))
		begin(bio, false, copy);
	return 0;
}

PROGRAM_COPIES(bio_split, "tp_btf/block_split")
{
	struct bio *part = (struct bio *)argument(ctx, block_config.arg_split);

	if (!copy || !request_at((__u64)part))
		begin_part(part, part->bi_private);
	return 0;
}

/* Each flush has a request at once, which then waits for the device's flush. */
static __always_inline void made(struct block_request *s)
{
	if (block_selection.stages && s->op == BLOCK_FLUSH && !s->inserted)
		s->inserted = bpf_ktime_get_ns();
}

PROGRAM_ONCE(request_made, "tp_btf/block_io_start")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_made);
	struct block_request *s = request_found(rq);

	if (s)
		made(s);
	else
		begin(rq, true, 0);
	return 0;
}

/* Before block_io_start (6.5). */
PROGRAM_ONCE(bio_made, "tp_btf/block_getrq")
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_made);
	struct block_request *s;

	if (bio->bi_iter.bi_size)
		return 0;
	s = request_at((__u64)bio);
	if (s)
		made(s);
	return 0;
}

PROGRAM_COPIES(request_inserted, "tp_btf/block_rq_insert")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_insert);
	struct block_request *s = request_on_its_way(rq);

	if (!s)
		return 0;
	s->scheduled = 1;
	if (block_selection.stages && !s->inserted)
		s->inserted = bpf_ktime_get_ns();
	return 0;
}

PROGRAM_COPIES(request_issued, "tp_btf/block_rq_issue")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_issue);
	struct device_flush flush = {};
	struct block_request *s;
	__u64 queue;

	if (request_is_device_flush(rq)) {
		flush.issued = bpf_ktime_get_ns();
		queue = (__u64)rq->mq_hctx;
		bpf_map_update_elem(&block_flushes, &queue, &flush, BPF_ANY);
		return 0;
	}
	s = request_on_its_way(rq);
	if (!s || s->issued)
		return 0;
	s->issued = bpf_ktime_get_ns();
	/* Only now no other request can be merged into it; later, it may be done in parts. */
	if (!s->was_issued && !s->rejected)
		describe(s, rq);
	s->was_issued = 1;
	return 0;
}

/* --- on the way --- */

PROGRAM_COPIES(request_requeued, "tp_btf/block_rq_requeue")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_requeue);
	struct block_request *s = request_found(rq);

	if (!s || s->merged || !rq->state) /* the driver had not begun it */
		return 0;
	if (++s->seen_requeued[copy] > s->requeued) {
		s->requeued = s->seen_requeued[copy];
		if (!s->rejected)
			count(requeued);
	}
	if (!s->issued)
		return 0;
	/* It bypassed the queue, but now it waits in one. */
	if (!s->inserted)
		s->inserted = s->issued;
	s->issued = 0;
	return 0;
}

/* It ends as a part of another one, without a completion of its own. */
PROGRAM_COPIES(request_merged, "tp_btf/block_rq_merge")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_merge);
	struct block_request *s = request_of(rq);

	if (!s)
		return 0;
	if (!s->rejected) {
		count(merged);
		ledger_add(bpf_get_smp_processor_id(), began, -1);
	}
	forget(s);
	return 0;
}

PROGRAM_COPIES(bio_merged_behind, "tp_btf/block_bio_backmerge")
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_backmerge);
	struct block_request *s = request_at((__u64)bio);

	if (!s)
		return 0;
	if (!s->rejected) {
		count(bios);
		ledger_add(bpf_get_smp_processor_id(), began, -1);
	}
	forget(s);
	return 0;
}

/* The bio becomes the first of the request, by which the request will be found. */
static __noinline void merge_before(struct bio *bio)
{
	struct block_request *s = request_at((__u64)bio);

	if (!s) {
		s = take((__u64)bio);
		if (!s)
			return;
		__builtin_memset(&s->op, 0, 8);
		s->rejected = s->merged = 1;
		s->id = (__u64)bio;
		return;
	}
	if (!s->rejected) {
		count(bios);
		ledger_add(bpf_get_smp_processor_id(), began, -1);
	}
	s->rejected = s->merged = 1;
}

PROGRAM_COPIES(bio_merged_before, "tp_btf/block_bio_frontmerge")
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_frontmerge);
	struct block_request *s = copy ? request_at((__u64)bio) : NULL;

	if (!s || !s->merged)
		merge_before(bio);
	return 0;
}

/* --- ends --- */

static __always_inline void flush_done(struct request *rq)
{
	__u64 queue = (__u64)rq->mq_hctx;
	struct device_flush *flush = bpf_map_lookup_elem(&block_flushes, &queue);

	if (flush)
		flush->done = bpf_ktime_get_ns();
}

/* A flush is not issued itself.  The device's flush that ends it began after it was made. */
static __always_inline void adopt_flush(struct block_request *s, struct request *rq)
{
	__u64 queue = (__u64)rq->mq_hctx;
	struct device_flush *flush = bpf_map_lookup_elem(&block_flushes, &queue);

	if (!flush || flush->issued < (s->inserted ?: s->start) || flush->done < flush->issued)
		return;
	s->issued = flush->issued;
}

static __always_inline __u32 error_of(__u64 error)
{
	if (!block_config.has_status)
		return -(__s32)error;
	return error & 0xff ? BLOCK_STATUS | (error & 0xff) : 0;
}

/* By the address of the disk. */
PLUMB_MAP(block_disks, PERCPU_HASH, BLOCK_DISKS, __u64, struct block_disk);

static __noinline void count_of_disk(struct request *rq, bool traced)
{
	const struct block_disk none = {};
	__u64 disk = (__u64)request_disk(rq);
	struct block_disk *of = bpf_map_lookup_elem(&block_disks, &disk);

	if (!of) {
		bpf_map_update_elem(&block_disks, &disk, &none, BPF_NOEXIST);
		of = bpf_map_lookup_elem(&block_disks, &disk);
	}
	if (of && traced)
		atomic_add(&of->traced, 1);
	else if (of)
		atomic_add(&of->others, 1);
}

/* The request is then found by its own address, since its first bio ends.  LEFT: before it. */
static __always_inline void completed_in_part(struct block_request *s, struct request *rq,
					      __u32 left, bool in_sequence)
{
	if (!in_sequence && !s->described)
		describe(s, rq);
	if (!in_sequence && !s->rejected && s->left != left)
		count(partial);
	s->left = left;
	if (!in_sequence && s->id != (__u64)rq)
		move(s, (__u64)rq);
}

static __always_inline void completed(struct block_request *s, struct request *rq)
{
	struct gendisk___any *disk = request_disk(rq);
	__u64 now = bpf_ktime_get_ns();
	struct block_key key = {};

	if (!s->described)
		describe(s, rq);
	if (block_selection.stages && s->op == BLOCK_FLUSH && !s->issued)
		adopt_flush(s, rq);
	if (!s->scheduled)
		count(bypassed);
	if (s->op == BLOCK_DRIVER)
		count(driver);
	if (filter_rejects_threads())
		count_of_disk(rq, true);
	if (disk && names_disk())
		name_disk(key.disk, disk);
	if (names_part())
		key.dev = request_dev(rq, disk);
	record(&key, s, now);
}

/* The end of what has no state: the device's flush, or a request that was not seen before. */
static __noinline void unknown_ends(struct request *rq, __u32 bytes, __u32 copy)
{
	if (request_is_in_sequence(rq)) {
		if (block_selection.stages && request_is_device_flush(rq))
			flush_done(rq);
		return;
	}
	if (copy || bytes < rq->__data_len || !plumb_live)
		return;
	/* With filters, others' requests are not known either. */
	if (filter_rejects_threads())
		count_of_disk(rq, false);
	else
		ledger_count(bpf_get_smp_processor_id(), unmatched);
	if ((rq->cmd_flags & REQ_OP_MASK) >= 32)
		count(driver);
}

PROGRAM_COPIES(request_completed, "tp_btf/block_rq_complete")
{
	struct request *rq = (struct request *)argument(ctx, 0);
	struct block_request *s = request_of(rq);
	const __u32 error = error_of(ctx[1]), bytes = ctx[2];
	bool in_sequence;

	if (!s) {
		if (!copy || block_selection.stages)
			unknown_ends(rq, bytes, copy);
		return 0;
	}
	if (error)
		s->error = error;
	/* Each part of a request completes by itself; its length is what is left of it. */
	in_sequence = request_is_in_sequence(rq);
	if (unlikely(in_sequence || bytes < rq->__data_len)) {
		completed_in_part(s, rq, rq->__data_len, in_sequence);
		return 0;
	}
	if (!s->rejected)
		completed(s, rq);
	else
		count(own);
	forget(s);
	return 0;
}

/*
 * A bio that ends without a request of its own disk: the disk's driver takes bios (device mapper,
 * RAID, RAM disks), or it failed before.
 */
PROGRAM_COPIES(bio_completed, "tp_btf/block_bio_complete")
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_bio_complete);
	struct block_request *s = request_at((__u64)bio);
	__u64 now = bpf_ktime_get_ns();
	struct block_key key = {};

	if (!s)
		return 0;
	if (!s->rejected) {
		if (bio->bi_status)
			s->error = BLOCK_STATUS | bio->bi_status;
		s->issued = s->start;
		if (names_disk())
			name_disk_at(key.disk, s->disk);
		key.dev = s->dev;
		count(passed);
		record(&key, s, now);
	}
	forget(s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
