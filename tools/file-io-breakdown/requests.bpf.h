/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * requests: those that are in a device, and the calls and disks to which they belong: of a request
 * to the disk below a stacked one, that of the file, too.
 */
#pragma once

#include "bios.bpf.h"

/* A request that is in the device. */
struct io_request {
	struct io_owner owners[2];
	__u32 dev;
	__u32 above;       /* the stacked disk to which the first bio was submitted; 0: none */
	__u32 flush, copy; /* as of a bio */
};

PLUMB_MAP(io_requests, HASH, IO_REQUESTS, __u64, struct io_request);

/* It enters the device (N is 1) or leaves it (-1). */
static __always_inline void request_moves(const struct io_request *r, __u64 now, __s64 n)
{
	disk_change(r->dev, now, 0, n, n * r->flush);
	disk_change(r->above, now, 0, n, n * r->flush);
	call_change(&r->owners[0], now, 0, n, 0);
	call_change(&r->owners[1], now, 0, n, 0);
}

static __always_inline void request_leaves(__u64 id, struct io_request *r, __u64 now)
{
	request_moves(r, now, -1);
	bpf_map_delete_elem(&io_requests, &id);
}

static __always_inline void find_owners(struct request *rq, struct io_request *r)
{
	__u64 first = (__u64)BPF_CORE_READ(rq, bio), last = (__u64)BPF_CORE_READ(rq, biotail);
	struct io_bio *b = first ? bpf_map_lookup_elem(&io_bios, &first) : NULL;
	struct io_disk *d;

	if (b) {
		r->owners[0] = b->owner;
		r->above = b->dev == r->dev ? 0 : b->dev;
	}
	/* The device's flush has no bio. */
	d = r->flush ? disk_get(r->dev) : NULL;
	if (d)
		r->above = d->above;
	if (!last || last == first)
		return;
	b = bpf_map_lookup_elem(&io_bios, &last);
	if (b && b->owner.call != r->owners[0].call)
		r->owners[1] = b->owner;
}

PROGRAM_COPIES(request_issued, "raw_tp/block_rq_issue")
{
	struct request *rq = (struct request *)argument(ctx, block_config.arg_issue);
	struct io_request r = {.dev = disk_number(request_disk(rq)),
			       .flush = request_is_device_flush(rq),
			       .copy = copy},
			  *known;
	__u64 id = (__u64)rq, now = bpf_ktime_get_ns();

	known = bpf_map_lookup_elem(&io_requests, &id);
	if (known && known->copy < copy)
		return 0;
	if (known) {
		io_count(replaced);
		request_leaves(id, known, now);
	}
	find_owners(rq, &r);
	if (bpf_map_update_elem(&io_requests, &id, &r, BPF_ANY)) {
		io_count(lost);
		return 0;
	}
	io_count(requests);
	request_moves(&r, now, 1);
	return 0;
}

PROGRAM_COPIES(request_requeued, "raw_tp/block_rq_requeue")
{
	__u64 id = argument(ctx, block_config.arg_requeue);
	struct io_request *r = bpf_map_lookup_elem(&io_requests, &id);

	if (r)
		request_leaves(id, r, bpf_ktime_get_ns());
	return 0;
}

/* Not static, so that the verifier checks it once, not for each bio of a request. */
__noinline int known_bio_ends(__u64 id, __u64 now)
{
	struct io_bio *b = bpf_map_lookup_elem(&io_bios, &id);

	if (b)
		bio_ends(id, b, now);
	return 0;
}

static __always_inline int known_bio_ends_inlined(__u64 id, __u64 now)
{
	struct io_bio *b = bpf_map_lookup_elem(&io_bios, &id);

	if (b)
		bio_ends(id, b, now);
	return 0;
}

static __always_inline int completed(__u64 *ctx, bool inlined)
{
	struct request *rq = (struct request *)ctx[0];
	__u64 id = (__u64)rq, now = bpf_ktime_get_ns();
	struct io_request *r;
	__u32 bytes = ctx[2];

	/* Each part of a request completes by itself; its length is what is left of it. */
	if (bytes >= BPF_CORE_READ(rq, __data_len)) {
		r = bpf_map_lookup_elem(&io_requests, &id);
		if (r)
			request_leaves(id, r, now);
	}
	if (request_is_in_sequence(rq))
		return 0;
	if (inlined)
		request_ends_bios(rq, bytes, now, known_bio_ends_inlined);
	else
		request_ends_bios(rq, bytes, now, known_bio_ends);
	return 0;
}

PROGRAM_COPIES(request_completed, "raw_tp/block_rq_complete")
{
	return completed(ctx, false);
}

/* Instead, before 5.12: the loader replaces the instruction that is missing only in programs. */
SEC("raw_tp/block_rq_complete")
int request_completed_inlined(__u64 *ctx)
{
	return completed(ctx, true);
}
