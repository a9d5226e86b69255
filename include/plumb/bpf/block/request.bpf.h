/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * request: what a struct request says, on kernels from 5.10 on.
 *
 * A tool whose programs get requests and bios from BTF-typed raw tracepoints (tp_btf) defines
 * BLOCK_TYPED before: the verifier then knows their types, and members are read by plain loads.
 */
#pragma once

#include <plumb/bpf/block/request.h>
#include <plumb/bpf/core/common.bpf.h>

const volatile struct block_config block_config = {};

#ifdef BLOCK_TYPED
#define block_read(from, ...) ___arrow(from, __VA_ARGS__)
#else
#define block_read(from, ...) BPF_CORE_READ(from, __VA_ARGS__)
#endif

/* Members that a newer kernel, on which this may be compiled, does not have. */
struct gendisk___any {
	int major, first_minor;
	char disk_name[BLOCK_DISK_LEN];
} __attribute__((preserve_access_index));

struct request_queue___disk { /* from 5.16 on */
	struct gendisk___any *disk;
} __attribute__((preserve_access_index));

struct hd_struct___old { /* a partition, before 5.11 */
	struct device __dev;
} __attribute__((preserve_access_index));

struct block_device___any { /* a partition, from 5.11 on */
	dev_t bd_dev;
	struct gendisk___any *bd_disk;
} __attribute__((preserve_access_index));

struct bio___any {
	struct gendisk___any *bi_disk;      /* before 5.12 */
	struct block_device___any *bi_bdev; /* from 5.12 on */
	struct blkcg_gq *bi_blkg;           /* with CONFIG_BLK_CGROUP */
} __attribute__((preserve_access_index));

struct request___5_10 {
	struct hd_struct___old *part;
} __attribute__((preserve_access_index));

struct request___any {
	struct request_queue *q;
	struct gendisk___any *rq_disk; /* before 5.17 */
	struct block_device___any *part;
} __attribute__((preserve_access_index));

enum req_flag_bits___any {
	__REQ_SYNC___any = 11,
	__REQ_META___any = 12,
	__REQ_FUA___any = 17,
	__REQ_PREFLUSH___any = 18,
	__REQ_RAHEAD___any = 19,
	__REQ_POLLED___any = 22,
};

#define REQ_OP_MASK 0xff /* REQ_OP_BITS has always been 8 */

/* The flag NAME of FLAGS, 0 or 1. */
#define request_flag(flags, name)                                                                  \
	(!bpf_core_enum_value_exists(enum req_flag_bits___any, name)                               \
		 ? 0                                                                               \
		 : ((flags) >> bpf_core_enum_value(enum req_flag_bits___any, name) & 1))

/*
 * Whether the request is in a sequence of flushes and data, or is the device's flush itself.  Its
 * completion is then not its end.
 */
static __always_inline bool request_is_in_sequence(struct request *rq)
{
	return block_read(rq, rq_flags) & block_config.flush_seq;
}

/* Bios of a request that are followed to its end; it has at most as many, if it is of segments. */
#define REQUEST_BIOS 256

/* BYTES of the request are done: ENDS is called for the first of its bios, which end. */
static __always_inline void request_ends_bios(struct request *rq, __u32 bytes, __u64 now,
					      int (*ends)(__u64 id, __u64 now))
{
	struct bio *bio = block_read(rq, bio);
	__u32 size;
	__u64 id;

	for (int i = 0; i < REQUEST_BIOS && bio; i++) {
		size = block_read(bio, bi_iter.bi_size);
		if (size > bytes)
			return;
		bytes -= size;
		id = (__u64)bio;
		bio = block_read(bio, bi_next);
		ends(id, now);
	}
}

/* Numbers that have not changed since 5.10; those of zones have. */
static __always_inline enum block_op request_op(__u32 flags, __u32 bytes)
{
	switch (flags & REQ_OP_MASK) {
	case 0:
		return BLOCK_READ;
	case 1: /* a write of nothing, which asks for a flush, is how a flush is submitted */
		return !bytes && request_flag(flags, __REQ_PREFLUSH___any) ? BLOCK_FLUSH
									   : BLOCK_WRITE;
	case 2:
		return BLOCK_FLUSH;
	case 3:
		return BLOCK_DISCARD;
	case 5:
		return BLOCK_SECURE_ERASE;
	case 9:
		return BLOCK_WRITE_ZEROES;
	case 32 ... 35:
		return BLOCK_DRIVER;
	default:
		return BLOCK_OTHER;
	}
}

/* The flush that the kernel makes for one or more requests that ask for it. */
static __always_inline bool request_is_device_flush(struct request *rq)
{
	return (block_read(rq, cmd_flags) & REQ_OP_MASK) == 2 && request_is_in_sequence(rq);
}

static __always_inline __u32 request_flags(__u32 flags)
{
	return request_flag(flags, __REQ_SYNC___any) << BLOCK_SYNC |
	       request_flag(flags, __REQ_META___any) << BLOCK_META |
	       request_flag(flags, __REQ_RAHEAD___any) << BLOCK_READAHEAD |
	       request_flag(flags, __REQ_FUA___any) << BLOCK_FUA |
	       request_flag(flags, __REQ_POLLED___any) << BLOCK_POLLED;
}

static __always_inline struct gendisk___any *request_disk(struct request *request)
{
	struct request___any *rq = (struct request___any *)request;
	struct request_queue___disk *q;

	if (bpf_core_field_exists(rq->rq_disk))
		return block_read(rq, rq_disk);
	q = (struct request_queue___disk *)block_read(rq, q);
	return block_read(q, disk);
}

static __always_inline __u32 disk_dev(struct gendisk___any *disk)
{
	return block_read(disk, major) << 20 | block_read(disk, first_minor);
}

/* The partition's number, or the disk's. */
static __always_inline __u32 request_dev(struct request *request, struct gendisk___any *disk)
{
	struct request___5_10 *old = (struct request___5_10 *)request;
	struct request___any *rq = (struct request___any *)request;
	struct bio___any *bio = (struct bio___any *)block_read(request, bio);
	struct hd_struct___old *hd;
	__u32 dev = 0;

	/* Where bios name partitions: the request does so only if its statistics are kept. */
	if (bpf_core_field_exists(bio->bi_bdev)) {
		if (bio)
			dev = block_read(bio, bi_bdev, bd_dev);
		else if (block_read(rq, part))
			dev = block_read(rq, part, bd_dev);
	} else if (bpf_core_type_exists(struct hd_struct___old)) {
		hd = block_read(old, part);
		if (hd)
			dev = block_read(hd, __dev.devt);
	}
	if (!dev && disk)
		dev = disk_dev(disk);
	return dev;
}

/* The disk to which a bio is submitted. */
static __always_inline struct gendisk___any *bio_disk(struct bio *plain)
{
	struct bio___any *bio = (struct bio___any *)plain;

	if (bpf_core_field_exists(bio->bi_disk))
		return block_read(bio, bi_disk);
	return block_read(bio, bi_bdev, bd_disk);
}

/* The partition's number, or the disk's. */
static __always_inline __u32 bio_dev(struct bio *plain, struct gendisk___any *disk)
{
	struct bio___any *bio = (struct bio___any *)plain;

	if (bpf_core_field_exists(bio->bi_bdev))
		return block_read(bio, bi_bdev, bd_dev);
	return disk ? disk_dev(disk) : 0;
}

/*
 * The cgroup v2 to which the bio's data belong; 0: the root, or not known.  Of data that are
 * written back it is the cgroup that dirtied the page, if the io controller is enabled.
 */
static __always_inline __u64 bio_cgroup(struct bio *plain)
{
	struct bio___any *bio = (struct bio___any *)plain;
	struct cgroup *cgroup;

	if (!bio || !bpf_core_field_exists(bio->bi_blkg))
		return 0;
	cgroup = block_read(bio, bi_blkg, blkcg, css.cgroup);
	/* Version 2 is hierarchy 0. */
	if (!cgroup || block_read(cgroup, root, hierarchy_id) || !block_read(cgroup, level))
		return 0;
	return block_read(cgroup, kn, id);
}
