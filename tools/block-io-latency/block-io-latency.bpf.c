/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "block-io-latency.h"

#define PLUMB_KEY struct block_key
#define PLUMB_STATELESS
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>

#include "record.bpf.h"
#include "state.bpf.h"

struct block_counts block_counts = {};

#define count(what) __sync_fetch_and_add(&block_counts.what, 1)

/* The latest flush of a device, by the hardware queue of those for whom it was made. */
struct device_flush {
	__u64 issued, done; /* ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct device_flush);
} block_flushes SEC(".maps");

/*
 * Where programs can be preempted, the kernel skips a program for other threads of the CPU while
 * one is.  Each then has copies, which run one after the other: the first that is not skipped does
 * the work, the others find it done.  COPY: 0 is the first.
 */
#define PROGRAM_COPY(name, hook, copy)                                                             \
	SEC(hook) int name##_##copy(struct bpf_raw_tracepoint_args *ctx)                           \
	{                                                                                          \
		return name(ctx, copy);                                                            \
	}
#define PROGRAM(name, hook)                                                                        \
	static __always_inline int name(struct bpf_raw_tracepoint_args *ctx, const __u32 copy);    \
	PROGRAM_COPY(name, hook, 0)                                                                \
	PROGRAM_COPY(name, hook, 1)                                                                \
	PROGRAM_COPY(name, hook, 2)                                                                \
	PROGRAM_COPY(name, hook, 3)                                                                \
	static __always_inline int name(struct bpf_raw_tracepoint_args *ctx,                       \
					const __u32 copy __attribute__((unused)))

/* --- beginnings --- */

PROGRAM(bio_submitted, "raw_tp/block_bio_queue")
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_queue);

	if (!copy || !request_at((__u64)bio))
		begin((__u64)bio, NULL, bio, copy);
	return 0;
}

PROGRAM(bio_split, "raw_tp/block_split")
{
	struct bio *part = (struct bio *)argument(ctx, block_config.arg_split);

	if (!copy || !request_at((__u64)part))
		begin_part(part, BPF_CORE_READ(part, bi_private));
	return 0;
}

/* Each flush has a request at once, which then waits for the device's flush. */
static __always_inline void made(struct block_request *s)
{
	if (s->key.op == BLOCK_FLUSH && !s->inserted)
		s->inserted = bpf_ktime_get_ns();
}

PROGRAM(request_made, "raw_tp/block_io_start")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_made);
	struct bio *bio = BPF_CORE_READ(rq, bio);
	struct block_request *s;

	if (copy && request_at((__u64)rq))
		return 0;
	if (!bio || !take_from((__u64)bio, rq, copy))
		begin((__u64)rq, rq, bio, copy);
	s = request_at((__u64)rq);
	if (s)
		made(s);
	return 0;
}

/* Before block_io_start (6.5). */
PROGRAM(bio_made, "raw_tp/block_getrq")
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_made);
	struct block_request *s = request_at((__u64)bio);

	if (s)
		made(s);
	return 0;
}

PROGRAM(request_inserted, "raw_tp/block_rq_insert")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_insert);
	struct block_request *s = request_on_its_way(rq);

	if (!s)
		return 0;
	s->scheduled = 1;
	if (!s->inserted)
		s->inserted = bpf_ktime_get_ns();
	return 0;
}

PROGRAM(request_issued, "raw_tp/block_rq_issue")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_issue);
	struct device_flush flush = {.issued = bpf_ktime_get_ns()};
	struct block_request *s;
	__u64 queue;

	if (request_is_device_flush(rq)) {
		queue = (__u64)BPF_CORE_READ(rq, mq_hctx);
		bpf_map_update_elem(&block_flushes, &queue, &flush, BPF_ANY);
		return 0;
	}
	s = request_on_its_way(rq);
	if (!s)
		return 0;
	/* Only now no other request can be merged into it; later, it may be done in parts. */
	if (!s->was_issued)
		describe(s, rq);
	s->was_issued = 1;
	if (!s->issued)
		s->issued = flush.issued;
	return 0;
}

/* --- on the way --- */

PROGRAM(request_requeued, "raw_tp/block_rq_requeue")
{
	struct block_request *s =
		request_of((struct request *)argument(ctx, block_config.arg_requeue));

	if (!s || !s->issued)
		return 0;
	if (!s->rejected)
		count(requeued);
	/* It bypassed the queue, but now it waits in one. */
	if (!s->inserted)
		s->inserted = s->issued;
	s->issued = 0;
	return 0;
}

/* It ends as a part of another one, without a completion of its own. */
PROGRAM(request_merged, "raw_tp/block_rq_merge")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_merge);
	struct block_request *s = request_of(rq);

	if (!s)
		return 0;
	if (!s->rejected) {
		count(merged);
		ledger_add(bpf_get_smp_processor_id(), began, -1);
	}
	forget((__u64)rq, s);
	return 0;
}

static __always_inline int bio_merged(struct bio *bio)
{
	struct block_request *s = request_at((__u64)bio);

	if (!s)
		return 0;
	if (!s->rejected) {
		count(bios);
		ledger_add(bpf_get_smp_processor_id(), began, -1);
	}
	forget((__u64)bio, s);
	return 0;
}

PROGRAM(bio_merged_behind, "raw_tp/block_bio_backmerge")
{
	return bio_merged((struct bio *)argument(ctx, block_config.arg_backmerge));
}

PROGRAM(bio_merged_before, "raw_tp/block_bio_frontmerge")
{
	return bio_merged((struct bio *)argument(ctx, block_config.arg_frontmerge));
}

/* --- ends --- */

static __always_inline void flush_done(struct request *rq, __u64 now)
{
	__u64 queue = (__u64)BPF_CORE_READ(rq, mq_hctx);
	struct device_flush *flush = bpf_map_lookup_elem(&block_flushes, &queue);

	if (flush)
		flush->done = now;
}

/* A flush is not issued itself.  The device's flush that ends it began after it was made. */
static __always_inline void adopt_flush(struct block_request *s, struct request *rq)
{
	__u64 queue = (__u64)BPF_CORE_READ(rq, mq_hctx);
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

PROGRAM(request_completed, "raw_tp/block_rq_complete")
{
	struct request *rq = (struct request *)ctx->args[0];
	bool in_sequence = request_is_in_sequence(rq), last;
	__u32 error = error_of(ctx->args[1]);
	__u64 now = bpf_ktime_get_ns();
	struct block_request *s;
	__u32 left;

	if (request_is_device_flush(rq)) {
		flush_done(rq, now);
		return 0;
	}
	/* Each part of a request completes by itself; its length is what is left of it. */
	left = BPF_CORE_READ(rq, __data_len);
	last = !in_sequence && (__u32)ctx->args[2] >= left;
	s = request_of(rq);
	if (!s) {
		/* With filters, it is not known whose it was. */
		if (!copy && last && plumb_live && !filter_rejects_threads())
			ledger_count(bpf_get_smp_processor_id(), unmatched);
		return 0;
	}
	if (error)
		s->key.error = error;
	if (!in_sequence && !last && !s->rejected && s->left != left)
		count(partial);
	s->left = left;
	if (!last)
		return 0;
	if (!s->described)
		describe(s, rq);
	if (s->key.op == BLOCK_FLUSH && !s->issued)
		adopt_flush(s, rq);
	if (!s->rejected) {
		if (!s->scheduled)
			count(bypassed);
		record(s, now);
	}
	forget((__u64)rq, s);
	return 0;
}

/*
 * A bio that ends without a request of its own disk: the disk's driver takes bios (device mapper,
 * RAID, RAM disks), or it failed before.
 */
PROGRAM(bio_completed, "raw_tp/block_bio_complete")
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_bio_complete);
	struct block_request *s = request_at((__u64)bio);
	__u64 now = bpf_ktime_get_ns();
	__u32 status;

	if (!s)
		return 0;
	status = BPF_CORE_READ(bio, bi_status);
	if (status)
		s->key.error = BLOCK_STATUS | status;
	s->issued = s->start;
	if (!s->rejected) {
		count(passed);
		record(s, now);
	}
	forget((__u64)bio, s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
