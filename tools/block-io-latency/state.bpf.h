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
 * A request is found by the address of its first bio.  One that has none, or that completes in
 * parts, is found by its own address.  A program looks for it by loads alone, and takes its slot by
 * an addition: a hash table's lookup, insertion and deletion take longer than all else.
 */
struct block_request block_slots[1 << BLOCK_HASH_BITS] = {};

/* Those that found the slot of their address taken. */
PLUMB_MAP(block_spills, HASH, BLOCK_REQUESTS - (1 << BLOCK_HASH_BITS), __u64, struct block_request);

__u32 block_spilled = 0;    /* 1: there was one */
__u32 block_by_request = 0; /* 1: some were found by their own address */

/* By 32 bits: the verifier refuses to multiply a pointer, but copies a part of it. */
static __always_inline struct block_request *slot_of(__u64 id)
{
	__u32 low;
	__u64 at;

	asm("%0 = %1" : "=w"(low) : "w"((__u32)id));
	at = low * 0x9e3779b9U >> (32 - BLOCK_HASH_BITS); /* Knuth, vol. 3, 6.4 */
	barrier_var(at); /* keeps the mask last, which the verifier of 5.10 needs */
	return &block_slots[at & ((1 << BLOCK_HASH_BITS) - 1)];
}

static __always_inline struct block_request *request_at(__u64 id)
{
	struct block_request *s = slot_of(id);

	if (s->id == id)
		return s;
	if (!block_spilled)
		return NULL;
	s = bpf_map_lookup_elem(&block_spills, &id);
	return s && s->id == id ? s : NULL;
}

/*
 * Takes a slot that is free.  Of those that try at the same time at most one finds that it is
 * alone: an atomic addition that returned the sum would tell, too, but 5.10 has none.
 */
static __always_inline bool claim(struct block_request *s)
{
	volatile __u32 *claims = &s->claims;

	if (*claims)
		return false;
	atomic_add(&s->claims, 1);
	if (*claims == 1)
		return true;
	atomic_add(&s->claims, -1);
	return false;
}

static __noinline struct block_request *spill(__u64 id)
{
	static const struct block_request spilled = {.spilled = 1};

	block_spilled = 1;
	if (bpf_map_update_elem(&block_spills, &id, &spilled, BPF_ANY))
		return NULL;
	return bpf_map_lookup_elem(&block_spills, &id);
}

/* Room for ID, which the caller enters last; NULL: there is none. */
static __always_inline struct block_request *take(__u64 id)
{
	struct block_request *s = slot_of(id);

	return claim(s) ? s : spill(id);
}

/* A deletion can fail (6.1: the map is busy), so the state says itself that it is no longer one. */
static __always_inline void forget(struct block_request *s)
{
	__u64 id = s->id;

	s->id = 0;
	if (unlikely(s->spilled))
		bpf_map_delete_elem(&block_spills, &id);
	else
		atomic_add(&s->claims, -1);
}

/* All of FROM but its place. */
static __always_inline void copy_request(struct block_request *to, const struct block_request *from)
{
	const __u64 *of = (const __u64 *)from;
	__u64 *words = (__u64 *)to;
	__u32 i;

	for (i = 1; i < sizeof(*to) / 8; i++)
		if (i != offsetof(struct block_request, claims) / 8)
			words[i] = of[i];
}

/* What does not change any more once the request is issued. */
static __always_inline void describe(struct block_request *s, struct request *rq)
{
	s->described = 1;
	s->bytes = rq->__data_len;
	s->sector = rq->__sector;
}

/* Of a bio that ends without a request; its driver may have changed its disk since. */
static __always_inline void describe_bio(struct block_request *s, struct bio *bio)
{
	struct gendisk___any *disk = bio_disk(bio);

	s->bytes = bio->bi_iter.bi_size;
	s->sector = bio->bi_iter.bi_sector;
	s->disk = (__u64)disk;
	s->dev = bio_dev(bio, disk);
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

/* The slot of what begins at ID. */
static __always_inline struct block_request *slot_for(__u64 id, __u32 cpu)
{
	struct block_request *s = request_at(id);

	if (!s)
		return take(id);
	/* Not the first at this address: the end of the one before was missed. */
	if (!s->rejected && !s->merged)
		ledger_count(cpu, exit_lost);
	return s;
}

/*
 * The current thread submits the bio AT or, if MADE, makes the request AT without one.  COPY: of
 * the program that sees it first.
 */
static __noinline void begin(void *at, bool made, __u32 copy)
{
	__u64 id = (__u64)at, now = bpf_ktime_get_ns();
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	/* Without a filter it is the tool itself, whose requests are remembered: they do not lack
	 * their beginning. */
	bool rejected = !filter_thread(task) || !filter_entry(task);
	struct block_request *s;

	if (rejected && filter_rejects_threads())
		return;
	s = slot_for(id, cpu);
	if (!s) {
		if (!rejected)
			refuse(id, cpu, copy);
		return;
	}
	s->start = now;
	s->inserted = s->issued = 0;
	s->error = 0;
	__builtin_memset(&s->op, 0, 8); /* and the flags after it */
	s->rejected = rejected;
	s->left = s->requeued = 0;
	__builtin_memset(s->seen_requeued, 0, sizeof(s->seen_requeued));
	s->pid = current_pid(task);
	s->tid = current_tid(task);
	if (block_selection.slower)
		bpf_get_current_comm(s->comm, sizeof(s->comm));
	if (KEY_HAS_WHO) {
		s->who = (struct plumb_who){};
		key_current(&s->who, task, cpu);
		key_trim(&s->who);
		/* Others act in their own cgroup; the io controller's may be one above that. */
		if (plumb_config.by & PLUMB_BY_CGROUP && current_read(task, flags) & PF_KTHREAD)
			s->who.cgroup = (made ? 0 : bio_cgroup(at)) ?: s->who.cgroup;
	}
	/* As submitted: where a flush is made apart, the request loses the flag that asks for it.
	 */
	if (made) {
		block_by_request = 1;
		s->flags = ((struct request *)at)->cmd_flags;
		describe(s, at);
		s->described = 0;
		s->disk = 0;
		s->dev = request_dev(at, request_disk(at));
	} else {
		s->flags = ((struct bio *)at)->bi_opf;
		describe_bio(s, at);
	}
	s->op = request_op(s->flags, s->bytes);
	s->id = id;
	if (!rejected)
		ledger_count(cpu, began);
	if (copy)
		ledger_count(cpu, rescued);
}

/* S has no room any more at ID, or its part has none there, which has not begun. */
static __always_inline void lose(const struct block_request *s, __u64 id, bool began)
{
	__u32 cpu = bpf_get_smp_processor_id();

	if (s->rejected)
		return;
	if (began) /* clang makes another operation of an addition of 0, which 5.10 does not have */
		ledger_add(cpu, began, -1);
	refuse(id, cpu, 0);
}

/* Makes FROM known by the address ID, to which it is copied. */
static __noinline void move(struct block_request *from, __u64 id)
{
	struct block_request *s = slot_for(id, bpf_get_smp_processor_id());

	block_by_request = 1;
	if (s) {
		copy_request(s, from);
		s->id = id;
	} else {
		lose(from, id, true);
	}
	forget(from);
}

/* PART was split from WHOLE, which is submitted again without it. */
static __noinline void begin_part(struct bio *part, struct bio *whole)
{
	struct block_request *known = request_at((__u64)whole), *s;
	__u32 cpu = bpf_get_smp_processor_id();

	if (!known)
		return;
	known->bytes = BPF_CORE_READ(whole, bi_iter.bi_size);
	known->sector = BPF_CORE_READ(whole, bi_iter.bi_sector);
	s = slot_for((__u64)part, cpu);
	if (!s) {
		lose(known, (__u64)part, false);
		return;
	}
	copy_request(s, known);
	describe_bio(s, part);
	s->id = (__u64)part;
	if (!s->rejected)
		ledger_count(cpu, began);
}

/*
 * Whether the bio at the address ID is the one for which a request was made.  One that was merged
 * before it is forgotten.  A function of its own for the verifier, which follows it once, and not
 * for each bio.
 */
__noinline int bio_has_request(__u64 id)
{
	struct block_request *s = request_at(id);

	if (!s)
		return 0;
	if (!s->merged)
		return 1;
	forget(s);
	return 0;
}

/*
 * The first bio of RQ was merged before the others.  The state of the bio for which it was made
 * takes the place of that of its first bio.
 */
static __noinline struct block_request *take_from_bios(struct request *rq)
{
	struct block_request *first = request_at((__u64)rq->bio), *s;
	__u64 id = (__u64)BPF_CORE_READ(rq, bio);

	for (int i = 0; i < MAX_BIOS; i++) {
		id = (__u64)BPF_CORE_READ((struct bio *)id, bi_next);
		if (!id || bio_has_request(id))
			break;
	}
	if (!first)
		return NULL;
	s = id ? request_at(id) : NULL;
	if (!s || s->merged) {
		forget(first);
		return NULL;
	}
	copy_request(first, s);
	forget(s);
	return first;
}

/* The state of RQ; of one whose first bio was merged into it, that bio's. */
static __always_inline struct block_request *request_found(struct request *rq)
{
	struct bio *bio = rq->bio;
	struct block_request *s = bio ? request_at((__u64)bio) : NULL;

	return s || !block_by_request ? s : request_at((__u64)rq);
}

/* The state of RQ. */
static __always_inline struct block_request *request_of(struct request *rq)
{
	struct block_request *s = request_found(rq);

	return s && unlikely(s->merged) ? take_from_bios(rq) : s;
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
