/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* state: requests in flight, from the thread that submits them to their end. */
#pragma once

#include "block-io-latency.h"
#define BLOCK_TYPED
#include <plumb/bpf/block/request.bpf.h>
#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>

const volatile struct block_selection block_selection = {};

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Bios of a request that are searched for the one for which it was made. */
#define MAX_BIOS 32

/*
 * By the address of the first bio.  A request that has none, or that completes in parts, is known
 * by its own address.
 */
PLUMB_MAP(block_requests, HASH, BLOCK_REQUESTS, __u64, struct block_request);

static __u32 block_by_request = 0; /* 1: some were known by their own address */

static __always_inline struct block_request *request_at(__u64 id)
{
	struct block_request *s = bpf_map_lookup_elem(&block_requests, &id);

	return s && s->start ? s : NULL;
}

/* A deletion can fail (6.1: the map is busy), so the state says itself that it is no longer one. */
static __always_inline void forget(struct block_request *s)
{
	__u64 id = s->id;

	s->start = 0;
	bpf_map_delete_elem(&block_requests, &id);
}

/* By plain loads: a helper call takes longer than a name. */
static __always_inline void name_disk(struct block_request *s, struct gendisk___any *disk)
{
	const __u64 *name = (const __u64 *)disk->disk_name;
	__u64 *to = (__u64 *)s->key.disk;
	__u32 i;

	for (i = 0; i < sizeof(s->key.disk) / 8; i++)
		to[i] = name[i];
	name_trim(to, sizeof(s->key.disk) / 8);
}

/* The same by the disk's address. */
static __always_inline void name_disk_at(struct block_request *s, __u64 address)
{
	struct gendisk___any *disk = (struct gendisk___any *)address;

	barrier_var(disk); /* otherwise the relocation is of the structure that had the address */
	bpf_probe_read_kernel_str(s->key.disk, sizeof(s->key.disk), &disk->disk_name);
}

/* What does not change any more once the request is issued. */
static __always_inline void describe(struct block_request *s, struct request *rq)
{
	struct gendisk___any *disk = request_disk(rq);

	s->described = 1;
	s->bytes = rq->__data_len;
	s->sector = rq->__sector;
	s->key.dev = request_dev(rq, disk);
	if (disk)
		name_disk(s, disk);
}

/* Of a bio that ends without a request; its driver may have changed its disk since. */
static __always_inline void describe_bio(struct block_request *s, struct bio *bio)
{
	struct gendisk___any *disk = bio_disk(bio);

	s->bytes = bio->bi_iter.bi_size;
	s->sector = bio->bi_iter.bi_sector;
	s->key.dev = bio_dev(bio, disk);
	s->disk = (__u64)disk;
}

static __always_inline void classify(struct block_request *s, __u32 flags, __u32 bytes)
{
	s->key.op = request_op(flags, bytes);
	s->key.flags = request_flags(flags);
}

/* Not the first at this address: the end of the one before was missed. */
static __noinline long replace(const struct block_request *s)
{
	struct block_request *old = request_at(s->id);

	if (old && !old->rejected && !old->merged)
		ledger_count(bpf_get_smp_processor_id(), exit_lost);
	return bpf_map_update_elem(&block_requests, &s->id, s, BPF_ANY);
}

/* The bio for which a CPU last found no room; copies of the program find that it was counted. */
static struct {
	__u64 id, pad[7];
} block_refused[PLUMB_LEDGERS] = {};

static __always_inline void refuse(__u64 id, __u32 cpu, __u32 copy)
{
	__u64 *refused = &block_refused[cpu & (PLUMB_LEDGERS - 1)].id;

	if (!copy || *refused != id)
		ledger_count(cpu, no_state);
	*refused = id;
}

/* COPY: of the program that sees it first. */
static __always_inline void keep(const struct block_request *s, __u32 copy)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (!bpf_map_update_elem(&block_requests, &s->id, s, BPF_NOEXIST) || !replace(s)) {
		if (!s->rejected)
			ledger_count(cpu, began);
		if (copy)
			ledger_count(cpu, rescued);
	} else if (!s->rejected) {
		refuse(s->id, cpu, copy);
	}
}

/*
 * The current thread submits the bio AT or, if MADE, makes the request AT without one.  Not
 * inlined, like all that copies a state: the stack of a program has room for two of them only.
 */
static __noinline void begin(void *at, bool made, __u32 copy)
{
	struct block_request s = {.start = bpf_ktime_get_ns(), .id = (__u64)at};
	struct task_struct *task = current_task();
	struct plumb_who *who = &s.key.who;

	/* Without a filter it is the tool itself, whose requests are remembered: they do not lack
	 * their beginning. */
	s.rejected = !filter_thread(task) || !filter_entry(task);
	if (s.rejected && filter_rejects_threads())
		return;
	key_current(who, task, bpf_get_smp_processor_id());
	key_trim(who);
	/* Others act in their own cgroup; the io controller's may be one above that. */
	if (plumb_config.by & PLUMB_BY_CGROUP && current_read(task, flags) & PF_KTHREAD)
		who->cgroup = (made ? 0 : bio_cgroup(at)) ?: who->cgroup;
	s.pid = current_pid(task);
	s.tid = current_tid(task);
	if (block_selection.slower)
		bpf_get_current_comm(s.comm, sizeof(s.comm));
	/* As submitted: where a flush is made apart, the request loses the flag that asks for it.
	 */
	if (made) {
		block_by_request = 1;
		classify(&s, ((struct request *)at)->cmd_flags, ((struct request *)at)->__data_len);
	} else {
		classify(&s, ((struct bio *)at)->bi_opf, ((struct bio *)at)->bi_iter.bi_size);
		describe_bio(&s, at);
	}
	keep(&s, copy);
}

/* Makes FROM known by the address ID, to which it is copied. */
static __noinline void move(struct block_request *from, __u64 id)
{
	struct block_request s = *from;

	block_by_request = 1;
	s.id = id;
	forget(from);
	if (!s.rejected)
		ledger_add(bpf_get_smp_processor_id(), began, -1);
	keep(&s, 0);
}

/* PART was split from WHOLE, which is submitted again without it. */
static __noinline void begin_part(struct bio *part, struct bio *whole)
{
	struct block_request *known = request_at((__u64)whole), s;

	if (!known)
		return;
	known->bytes = BPF_CORE_READ(whole, bi_iter.bi_size);
	known->sector = BPF_CORE_READ(whole, bi_iter.bi_sector);
	s = *known;
	s.id = (__u64)part;
	describe_bio(&s, part);
	keep(&s, 0);
}

/*
 * FIRST is of a bio that was merged before the others of the request RQ.  The state of the bio for
 * which it was made takes the place of that of its first bio.
 */
static __noinline struct block_request *take_from_bios(struct request *rq)
{
	struct bio *bio = rq->bio;
	struct block_request *first = request_at((__u64)bio), *s;
	__u64 id = (__u64)bio;

	for (int i = 0; first && i < MAX_BIOS; i++) {
		bio = bio->bi_next;
		if (!bio)
			break;
		s = request_at((__u64)bio);
		if (!s)
			continue;
		if (!s->merged) {
			*first = *s;
			first->id = id;
			forget(s);
			return first;
		}
		forget(s);
	}
	if (first)
		forget(first);
	return NULL;
}

/* The state of RQ. */
static __always_inline struct block_request *request_of(struct request *rq)
{
	struct bio *bio = rq->bio;
	struct block_request *s = bio ? request_at((__u64)bio) : NULL;

	if (s && unlikely(s->merged))
		s = take_from_bios(rq);
	return s || !block_by_request ? s : request_at((__u64)rq);
}

/*
 * The same when it is inserted or issued.  Where block_getrq names bios, a command for the driver,
 * which has none, begins here.
 */
static __always_inline struct block_request *request_on_its_way(struct request *rq)
{
	struct block_request *s = request_of(rq);

	if (s || (rq->cmd_flags & REQ_OP_MASK) < 32)
		return s;
	begin(rq, true, 0);
	return request_at((__u64)rq);
}
