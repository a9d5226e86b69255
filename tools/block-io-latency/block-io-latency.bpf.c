/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "block-io-latency.h"

#define PLUMB_KEY struct block_key
#define PLUMB_STATELESS
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>

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

/* Argument N, 0 or 1; a tracepoint that has one only is not asked for another. */
static __always_inline __u64 argument(struct bpf_raw_tracepoint_args *ctx, __u32 n)
{
	__u64 value;

	if (n) {
		value = ctx->args[1];
		barrier_var(value); /* otherwise an offset is computed, which 5.10 refuses */
	} else {
		value = ctx->args[0];
		barrier_var(value);
	}
	return value;
}

/* --- beginnings --- */

SEC("raw_tp/block_io_start")
int request_made(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_made);

	begin((__u64)rq, rq, BPF_CORE_READ(rq, bio));
	return 0;
}

/* Before block_io_start (6.5). */
SEC("raw_tp/block_getrq")
int bio_made(struct bpf_raw_tracepoint_args *ctx)
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_bio);

	begin((__u64)bio, NULL, bio);
	return 0;
}

SEC("raw_tp/block_rq_insert")
int request_inserted(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_insert);
	struct block_request *s = request_on_its_way(rq);

	if (s)
		s->inserted = 1;
	return 0;
}

SEC("raw_tp/block_rq_issue")
int request_issued(struct bpf_raw_tracepoint_args *ctx)
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
	if (!s->issued)
		describe(s, rq);
	s->issued = flush.issued;
	return 0;
}

/* --- on the way --- */

SEC("raw_tp/block_rq_requeue")
int request_requeued(struct bpf_raw_tracepoint_args *ctx)
{
	struct block_request *s =
		request_of((struct request *)argument(ctx, block_config.arg_requeue));

	if (s && !s->rejected)
		count(requeued);
	return 0;
}

/* It ends as a part of another one, without a completion of its own. */
SEC("raw_tp/block_rq_merge")
int request_merged(struct bpf_raw_tracepoint_args *ctx)
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

static __always_inline int count_bio(void)
{
	struct task_struct *task = current_task();

	if (filter_thread(task) && filter_entry(task))
		count(bios);
	return 0;
}

SEC("raw_tp/block_bio_backmerge")
int bio_merged_behind(void *ctx __attribute__((unused)))
{
	return count_bio();
}

SEC("raw_tp/block_bio_frontmerge")
int bio_merged_before(void *ctx __attribute__((unused)))
{
	return count_bio();
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

	if (!flush || flush->issued < s->start || flush->done < flush->issued)
		return;
	s->issued = flush->issued;
	s->done = flush->done;
}

static __always_inline __u64 between(__u64 from, __u64 to)
{
	/* Clocks of CPUs can differ a little. */
	return (__s64)(to - from) > 0 ? to - from : 0;
}

static __always_inline __u64 stage_time(const struct block_request *s, __u64 now)
{
	switch (block_config.stage) {
	case BLOCK_QUEUED:
		return between(s->start, s->issued);
	case BLOCK_DEVICE:
		return between(s->issued, s->done ?: now);
	default:
		return between(s->start, now);
	}
}

static __always_inline void record(struct block_request *s, __u64 now)
{
	__u32 cpu = bpf_get_smp_processor_id(), by = plumb_config.by, slot, at;
	struct plumb_totals *totals;
	struct block_key key = {};
	__u32 error = s->key.error;

	/* It failed, or was done by another, before it reached the driver. */
	if (block_config.stage != BLOCK_WHOLE && !s->issued) {
		ledger_count(cpu, filtered_at_exit);
		return;
	}
	if (!s->inserted)
		count(bypassed);
	key.who = s->key.who;
	if (by & BLOCK_BY_DISK)
		__builtin_memcpy(key.disk, s->key.disk, sizeof(key.disk));
	if (by & BLOCK_BY_PART)
		key.dev = s->key.dev;
	if (by & BLOCK_BY_OP)
		key.op = s->key.op;
	if (by & BLOCK_BY_FLAGS)
		key.flags = s->key.flags;
	if (by & BLOCK_BY_SIZE)
		key.size = s->bytes ? 1ULL << plumb_log2(s->bytes) : 0;
	if (by & BLOCK_BY_ERRNO)
		key.error = error;
	key_find(&key, &slot);
	at = hist_at(slot, cpu);
	totals = hist_record_at(&at, stage_time(s, now), error);
	if (totals)
		plumb_add(totals->extra[0], s->bytes);
}

static __always_inline __u32 error_of(__u64 error)
{
	return block_config.has_status ? error & 0xff : -(__s32)error;
}

SEC("raw_tp/block_rq_complete")
int request_completed(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = (struct request *)ctx->args[0];
	bool in_sequence = request_is_in_sequence(rq), last;
	__u32 error = error_of(ctx->args[1]);
	__u64 now = bpf_ktime_get_ns();
	struct block_request *s;

	if (request_is_device_flush(rq)) {
		flush_done(rq, now);
		return 0;
	}
	/* Each part of a request completes by itself; its length is what is left of it. */
	last = !in_sequence && (__u32)ctx->args[2] >= BPF_CORE_READ(rq, __data_len);
	s = request_of(rq);
	if (!s) {
		/* With filters, it is not known whose it was. */
		if (last && plumb_live && !filter_rejects_threads())
			ledger_count(bpf_get_smp_processor_id(), unmatched);
		return 0;
	}
	if (error)
		s->key.error = error;
	if (in_sequence)
		s->done = now;
	else if (!last && !s->rejected)
		count(partial);
	if (!last)
		return 0;
	if (!s->described)
		describe(s, rq);
	if (s->key.op == BLOCK_FLUSH && !s->issued)
		adopt_flush(s, rq);
	if (!s->rejected)
		record(s, now);
	forget((__u64)rq, s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
