/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * disks-follow: disks.bpf.h for a tool that does not follow bios and the wakeups of its threads by
 * itself.  It calls disk_wait_begins(), and disk_wait_ends() when it sees the thread run again,
 * which can have been woken before it slept; the part disks attaches these programs, in
 * this order: what ends before what begins.
 *
 * Of what is submitted to a stacked disk and passed on by it, each disk has its own bios.
 */
#pragma once

#include <plumb/bpf/block/disks.bpf.h>

struct disk_bio {
	struct disk_io io;
	__u32 dev;
};

PLUMB_MAP(plumb_disk_bios, HASH, 32768, __u64, struct disk_bio);

/* Not static, so that the verifier checks it once, not for each bio of a request. */
__noinline int disk_bio_ends(__u64 id, __u64 now)
{
	struct disk_bio *b = bpf_map_lookup_elem(&plumb_disk_bios, &id);

	barrier_var(now); /* otherwise the argument is not passed, which the verifier refuses */
	if (!b)
		return 0;
	disk_io_ends(&b->io, b->dev);
	bpf_map_delete_elem(&plumb_disk_bios, &id);
	return 0;
}

SEC("raw_tp/block_rq_complete")
int disk_request_completed(__u64 *ctx)
{
	struct request *rq = (struct request *)ctx[0];

	if (!request_is_in_sequence(rq))
		request_ends_bios(rq, ctx[2], 0, disk_bio_ends);
	return 0;
}

/* Only of disks without requests: otherwise the kernel reports the request's completion. */
SEC("raw_tp/block_bio_complete")
int disk_bio_completed(__u64 *ctx)
{
	return disk_bio_ends(argument(ctx, block_config.arg_bio_complete), 0);
}

/* The part completes into the rest, to which its bi_private points. */
SEC("raw_tp/block_split")
int disk_bio_split(__u64 *ctx)
{
	struct bio *part = (struct bio *)argument(ctx, block_config.arg_split);
	struct bio *rest = BPF_CORE_READ(part, bi_private);
	__u64 id = (__u64)part, of = (__u64)rest;
	struct disk_bio *known = bpf_map_lookup_elem(&plumb_disk_bios, &of), b;
	struct gendisk___any *disk = bio_disk(part);

	/* Where there are no requests, the whole completes last. */
	if (!known || !disk || !BPF_CORE_READ((struct gendisk *)disk, queue, mq_ops))
		return 0;
	b = *known;
	disk_io_is_part(&known->io, rest);
	disk_io_is_part(&b.io, part);
	bpf_map_update_elem(&plumb_disk_bios, &id, &b, BPF_ANY);
	return 0;
}

SEC("raw_tp/block_bio_queue")
int disk_bio_queued(__u64 *ctx)
{
	struct bio *bio = (struct bio *)argument(ctx, block_config.arg_queue);
	struct gendisk___any *disk = bio_disk(bio);
	struct disk_bio b = {.dev = disk ? disk_dev(disk) : 0};
	__u64 id = (__u64)bio;

	disk_io_begins(&b.io, bio, b.dev);
	bpf_map_update_elem(&plumb_disk_bios, &id, &b, BPF_ANY);
	return 0;
}

SEC("raw_tp/sched_waking")
int disk_waiter_woken(__u64 *ctx)
{
	if (disk_waiting > 0)
		disk_wait_ends(ctx[0], bpf_ktime_get_ns());
	return 0;
}
