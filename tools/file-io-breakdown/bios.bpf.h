/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * bios: the I/O of each call, from the bio that its thread submits to the request in the device.
 *
 * A bio belongs to the call whose thread submits it. It is followed by its address through the
 * layers: what it is split into, and what a stacked device (device mapper, RAID) makes of it and
 * submits later by other threads, belongs to the same call. A request belongs to the calls of its
 * first and its last bio.
 */
#pragma once

#include "call.bpf.h"
#include <plumb/bpf/block/disks.bpf.h>
#include <plumb/bpf/core/copies.bpf.h>
#include <plumb/bpf/core/inflight-slots.bpf.h>

const volatile struct io_config io_config = {};

/* REQ_PREFLUSH or REQ_FUA, and REQ_OP_FLUSH. */
#define asks_for_flush(flags)                                                                      \
	(request_flag(flags, __REQ_PREFLUSH___any) || request_flag(flags, __REQ_FUA___any) ||      \
	 ((flags)&REQ_OP_MASK) == 2)

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

struct io_owner {
	__u64 task; /* address */
	__u64 call; /* io_call.id; 0: no call that is traced */
};

struct io_bio {
	struct io_owner owner;
	struct io_submitter by;
	__u32 dev;
	__u8 counted; /* in the counters of disk and call: not a part of a bio that is */
	__u8 flush;
	__u8 copy;    /* of the program that saw it begin */
	__u8 early;   /* seen before block_bio_queue */
	__u32 below;  /* the disk to which a stacked one passes it on */
	__u32 queued; /* in the counters of that disk */
	struct disk_io io;
	__u32 pad;
};

PLUMB_MAP(io_bios, HASH, IO_BIOS, __u64, struct io_bio);

/* Bios to stacked disks, by disk and first sector, as these name them. */
struct io_start {
	__u64 sector;
	__u32 dev, pad;
};

PLUMB_MAP(io_starts, LRU_HASH, IO_BIOS, struct io_start, __u64);

static __always_inline __u32 disk_number(struct gendisk___any *disk)
{
	return disk ? disk_dev(disk) : 0;
}

/* The state of the thread at address TASK, if it is in the call CALL still. */
static __always_inline struct io_call *call_of(const struct io_owner *owner)
{
	__u64 task = owner->task;
	struct plumb_thread_kept *kept;

	if (!owner->call)
		return NULL;
	kept = bpf_map_lookup_elem(&plumb_threads_by_task, &task);
	return kept && kept->thread.own.id == owner->call ? &kept->thread.own : NULL;
}

static __always_inline void call_change(const struct io_owner *owner, __u64 now, __s64 bios,
					__s64 in_device, __s64 flushes)
{
	struct io_call *c = call_of(owner);

	if (!c)
		return;
	call_account(c, now);
	if (bios)
		io_add(c->bios, bios);
	if (bios < 0)
		c->done = 1;
	if (in_device)
		io_add(c->in_device, in_device);
	if (flushes)
		io_add(c->flushes, flushes);
	call_note_disk(c, now);
}

/* A limit of the cgroup holds N more bios of the call back. */
static __always_inline void call_hold(const struct io_owner *owner, __u64 now, __s64 n)
{
	struct io_call *c = call_of(owner);

	if (!c)
		return;
	call_account(c, now);
	io_add(c->held, n);
	call_note_disk(c, now);
}

/* --- bios --- */

static __always_inline void bio_ends(__u64 id, struct io_bio *b, __u64 now)
{
	__u32 dev = b->counted ? b->dev : b->queued ? b->below : 0;
	struct io_disk *d;

	disk_change(dev, now, -1, 0, 0);
	disk_io_ends(&b->io, dev);
	d = disk_get(dev);
	if (d)
		d->by = b->by;
	if (b->counted)
		call_change(&b->owner, now, -1, 0, -(__s64)b->flush);
	bpf_map_delete_elem(&io_bios, &id);
}

static __always_inline void bio_begins(__u64 id, const struct io_bio *b, __u64 now)
{
	if (bpf_map_update_elem(&io_bios, &id, b, BPF_ANY)) {
		io_count(lost);
		return;
	}
	io_count(bios);
	if (!b->counted)
		return;
	disk_change(b->dev, now, 1, 0, 0);
	call_change(&b->owner, now, 1, 0, b->flush);
}

/* Whether the disk has requests; stacked ones pass bios on. */
static __always_inline bool has_requests(struct bio *bio)
{
	struct gendisk___any *disk = bio_disk(bio);

	return disk && BPF_CORE_READ((struct gendisk *)disk, queue, mq_ops);
}

static __always_inline void note_start(struct bio *bio, __u64 id, __u32 dev)
{
	struct io_start start = {.sector = BPF_CORE_READ(bio, bi_iter.bi_sector), .dev = dev};

	bpf_map_update_elem(&io_starts, &start, &id, BPF_ANY);
}

/* What a stacked disk makes of a bio is submitted to the disk below. */
static __always_inline void part_submitted(struct bio *bio, __u64 id, struct io_bio *part)
{
	__u64 now = bpf_ktime_get_ns();
	struct io_disk *d;

	if (!has_requests(bio)) {
		note_start(bio, id, disk_number(bio_disk(bio)));
	} else if (part->below && !part->queued) {
		part->queued = 1;
		disk_io_begins(&part->io, bio, part->below);
		disk_change(part->below, now, 1, 0, 0);
		d = part->flush ? disk_get(part->below) : NULL;
		if (d)
			d->above = part->dev;
	}
}

static __always_inline int bio_submitted(struct bio *bio, __u32 copy, bool early)
{
	struct io_bio b = {.counted = 1, .copy = copy, .early = early}, *known;
	struct task_struct *task = current_task();
	__u64 id = (__u64)bio, now = bpf_ktime_get_ns();
	struct call_thread *t;

	known = bpf_map_lookup_elem(&io_bios, &id);
	if (known && (early || known->early)) {
		if (known->early != early)
			call_hold(&known->owner, now, early ? 1 : -1);
		known->early = early;
		return 0;
	}
	if (known && !known->counted) {
		part_submitted(bio, id, known);
		return 0;
	}
	if (known && known->copy < copy)
		return 0; /* by another copy */
	if (known) {
		io_count(replaced);
		bio_ends(id, known, now);
	}
	b.by.pid = current_pid(task);
	b.by.tid = current_tid(task);
	bpf_get_current_comm(b.by.comm, sizeof(b.by.comm));
	b.dev = disk_number(bio_disk(bio));
	b.flush = asks_for_flush(BPF_CORE_READ(bio, bi_opf));
	disk_io_begins(&b.io, bio, b.dev);
	t = inflight_get(task);
	if (t && t->start) {
		b.owner.task = (__u64)task;
		b.owner.call = t->own.id;
		t->own.to = b.dev;
	} else if (!(current_read(task, flags) & PF_KTHREAD) && filter_thread(task) &&
		   filter_entry(task)) {
		io_count(outside);
	}
	if (!has_requests(bio))
		note_start(bio, id, b.dev);
	bio_begins(id, &b, now);
	if (early)
		call_hold(&b.owner, now, 1);
	return 0;
}

PROGRAM_COPIES(bio_queued, "raw_tp/block_bio_queue")
{
	return bio_submitted((struct bio *)argument(ctx, block_config.arg_queue), copy, false);
}

/*
 * __blk_throtl_bio() and, before it existed, blk_throtl_bio(): the bio of a throttled cgroup may
 * have to wait, and a thread of the kernel submits it then.
 */
SEC("fentry/__blk_throtl_bio")
int bio_throttled(__u64 *ctx)
{
	return bio_submitted((struct bio *)ctx[0], 0, true);
}

/* Only of disks without requests: otherwise the kernel reports the request's completion. */
PROGRAM_COPIES(bio_completed, "raw_tp/block_bio_complete")
{
	__u64 id = argument(ctx, block_config.arg_bio_complete);
	struct io_bio *b = bpf_map_lookup_elem(&io_bios, &id);

	if (b)
		bio_ends(id, b, bpf_ktime_get_ns());
	return 0;
}

/*
 * The part that is split off completes into the rest, to which its bi_private points. Where there
 * are requests, each of the two ends with its own. Otherwise the whole ends last.
 */
PROGRAM_COPIES(bio_split_off, "raw_tp/block_split")
{
	struct bio *part = (struct bio *)argument(ctx, block_config.arg_split);
	__u64 rest = (__u64)BPF_CORE_READ(part, bi_private), id = (__u64)part;
	struct io_bio *of = bpf_map_lookup_elem(&io_bios, &rest), b;

	if (!of || (copy && bpf_map_lookup_elem(&io_bios, &id)))
		return 0;
	b = *of;
	b.counted = has_requests(part);
	if (b.counted) {
		disk_io_is_part(&of->io, (struct bio *)rest);
		disk_io_is_part(&b.io, part);
	}
	bio_begins(id, &b, bpf_ktime_get_ns());
	return 0;
}

/* A stacked device submits a bio in place of another one, which it names by number and sector. */
static __always_inline int bio_remapped(struct bio *bio, __u32 dev, __u64 sector)
{
	struct io_start start = {.sector = sector, .dev = dev};
	__u64 *known = bpf_map_lookup_elem(&io_starts, &start), key, id = (__u64)bio;
	struct io_bio *of, b;

	if (!known || *known == id)
		return 0;
	key = *known;
	of = bpf_map_lookup_elem(&io_bios, &key);
	if (!of || (of->below ?: of->dev) != dev)
		return 0;
	b = *of;
	b.counted = b.queued = 0; /* the bio in whose place it is ends after it */
	b.below = disk_number(bio_disk(bio));
	bpf_map_update_elem(&io_bios, &id, &b, BPF_NOEXIST);
	return 0;
}

PROGRAM_COPIES(bio_mapped, "raw_tp/block_bio_remap")
{
	if (block_config.arg_remap)
		return bio_remapped((struct bio *)ctx[1], ctx[2], ctx[3]);
	return bio_remapped((struct bio *)ctx[0], ctx[1], ctx[2]);
}
