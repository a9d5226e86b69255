/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* state: requests in flight, from the thread that submits them to their end. */
#ifndef BLOCK_STATE_BPF_H
#define BLOCK_STATE_BPF_H

#include "block-io-latency.h"
#include <plumb/bpf/block/request.bpf.h>
#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>

const volatile struct block_selection block_selection = {};

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Bios of a request that are searched for the one for which it was made. */
#define MAX_BIOS 8

/* By the address of the bio, and from the time that it has a request by that of the request. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLOCK_REQUESTS);
	__type(key, __u64);
	__type(value, struct block_request);
} block_requests SEC(".maps");

static __always_inline struct block_request *request_at(__u64 id)
{
	struct block_request *s = bpf_map_lookup_elem(&block_requests, &id);

	return s && s->start ? s : NULL;
}

/* A deletion can fail (6.1: the map is busy), so the state says itself that it is no longer one. */
static __always_inline void forget(__u64 id, struct block_request *s)
{
	s->start = 0;
	bpf_map_delete_elem(&block_requests, &id);
}

static __always_inline void name_disk(struct block_request *s, struct gendisk___any *disk)
{
	if (disk)
		bpf_probe_read_kernel_str(s->key.disk, sizeof(s->key.disk), &disk->disk_name);
}

/* What does not change any more once the request is issued. */
static __always_inline void describe(struct block_request *s, struct request *rq)
{
	struct gendisk___any *disk = request_disk(rq);

	s->described = 1;
	s->bytes = BPF_CORE_READ(rq, __data_len);
	s->sector = BPF_CORE_READ(rq, __sector);
	s->key.dev = request_dev(rq, disk);
	name_disk(s, disk);
}

static __always_inline void describe_bio(struct block_request *s, struct bio *bio)
{
	struct gendisk___any *disk = bio_disk(bio);

	s->bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
	s->sector = BPF_CORE_READ(bio, bi_iter.bi_sector);
	s->key.dev = bio_dev(bio, disk);
	name_disk(s, disk);
}

static __always_inline void classify(struct block_request *s, __u32 flags, __u32 bytes)
{
	s->key.op = request_op(flags, bytes);
	s->key.flags = request_flags(flags);
}

/* COPY: of the program that sees it first. */
static __always_inline void keep(__u64 id, const struct block_request *s, __u32 copy)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct block_request *old = request_at(id);

	if (old && !old->rejected)
		ledger_count(cpu, exit_lost);
	if (!bpf_map_update_elem(&block_requests, &id, s, BPF_ANY)) {
		if (!s->rejected)
			ledger_count(cpu, began);
		if (copy)
			ledger_count(cpu, rescued);
	} else if (!s->rejected) {
		ledger_count(cpu, no_state);
	}
}

/*
 * The current thread submits a bio, or makes a request without one, which will be known by ID.  Not
 * inlined, like all that copies a state: the stack of a program has room for two of them only.
 */
static __noinline void begin(__u64 id, struct request *rq, struct bio *bio, __u32 copy)
{
	struct block_request s = {.start = bpf_ktime_get_ns()};
	struct task_struct *task = current_task();
	struct key_who w = {};

	/* Without a filter it is the tool itself, whose requests are remembered: they do not lack
	 * their beginning. */
	s.rejected = !filter_thread(task) || !filter_entry(task);
	if (s.rejected && filter_rejects_threads())
		return;
	key_current(&w, task);
	/* Others act in their own cgroup; the io controller's may be one above that. */
	if (plumb_config.by & PLUMB_BY_CGROUP && current_read(task, flags) & PF_KTHREAD)
		w.cgroup = bio_cgroup(bio) ?: w.cgroup;
	key_fill_who(&s.key.who, &w, bpf_get_smp_processor_id());
	s.pid = current_pid(task);
	s.tid = current_tid(task);
	if (block_selection.slower)
		bpf_get_current_comm(s.comm, sizeof(s.comm));
	/* As submitted: where a flush is made apart, the request loses the flag that asks for it.
	 */
	if (bio)
		classify(&s, BPF_CORE_READ(bio, bi_opf), BPF_CORE_READ(bio, bi_iter.bi_size));
	else
		classify(&s, BPF_CORE_READ(rq, cmd_flags), BPF_CORE_READ(rq, __data_len));
	if (rq)
		describe(&s, rq);
	else
		describe_bio(&s, bio);
	keep(id, &s, copy);
}

/* PART was split from WHOLE, which is submitted again without it. */
static __noinline void begin_part(struct bio *part, struct bio *whole)
{
	struct block_request *known = request_at((__u64)whole), s;

	if (!known)
		return;
	s = *known;
	describe_bio(&s, part);
	keep((__u64)part, &s, 0);
}

/*
 * A request that is known by the bio BIO is known by its own address from now on; also if the bio
 * was submitted to another disk, whose driver passed it on: its end as a bio is not traced then.
 */
static __noinline bool take_from(__u64 bio, struct request *rq, __u32 copy)
{
	struct block_request *known = request_at(bio), s;

	if (!known)
		return false;
	s = *known;
	forget(bio, known);
	if (!s.rejected)
		ledger_add(bpf_get_smp_processor_id(), began, -1);
	keep((__u64)rq, &s, copy);
	return true;
}

/*
 * Bios that were merged with the one for which the request was made are before it, or behind it, in
 * the request's list.
 */
static __always_inline bool take_from_bios(struct request *rq)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);

	if (!bio)
		return false;
	if (take_from((__u64)bio, rq, 0))
		return true;
	if (request_at((__u64)rq))
		return false;
	if (take_from((__u64)BPF_CORE_READ(rq, biotail), rq, 0))
		return true;
	for (int i = 0; i < MAX_BIOS; i++) {
		bio = BPF_CORE_READ(bio, bi_next);
		if (!bio)
			return false;
		if (take_from((__u64)bio, rq, 0))
			return true;
	}
	return false;
}

static __always_inline struct block_request *request_of(struct request *rq)
{
	if (block_config.search)
		take_from_bios(rq);
	return request_at((__u64)rq);
}

/*
 * The same when it is inserted or issued.  Where block_getrq names bios, a command for the driver,
 * which has none, begins here.
 */
static __always_inline struct block_request *request_on_its_way(struct request *rq)
{
	struct block_request *s = request_of(rq);
	__u32 op = BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK;

	if (s || !block_config.made_by_bio || op < 32)
		return s;
	begin((__u64)rq, rq, NULL, 0);
	return request_at((__u64)rq);
}

#endif
