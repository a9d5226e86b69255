/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * call: the I/O of a call that is in flight, and what its thread waits for.
 *
 * While the thread is blocked, its time is accounted for as that of a disk is (disk.bpf.h): at each
 * change of the I/O of the call, on whichever CPU. The deepest layer explains it: a request of the
 * call in the device; else a bio of the call in the block layer; else, if the thread waits for the
 * page cache, the file system or I/O, what the file's disk does for others; else that wait. A wait
 * that I/O does not end, as for a lock, is not explained by that of others.
 */
#pragma once

#include <plumb/bpf/stack/stack.bpf.h>
#include "disk.bpf.h"

/* The memory of a file and of its inode may be used again for others. */
struct io_file {
	__u64 file, inode, super, device; /* addresses; no file: not known */
	__u64 number, generation;         /* of the inode */
};

struct io_call {
	__u64 id;                  /* identifies the call; ns, CLOCK_MONOTONIC */
	__u64 last;                /* up to here its time is accounted for */
	__u64 waits;               /* enum io_wait; IO_RUNS: nothing is to be accounted for */
	__s64 bios, in_device;     /* of the call */
	__s64 flushes;             /* bios that ask for a flush of the device */
	__s64 held;                /* bios that a limit of the cgroup holds back */
	__u64 limited;             /* there is a limit for the disk: others may be held back */
	__u64 done;                /* I/O of the call has ended in this sleep */
	struct disk_times before;  /* of the file's disk, at last */
	__u64 slept[IO_PARTS];     /* ns of the sleep that is not over */
	__u64 ns[IO_PARTS];        /* ns of earlier sleeps, and IO_WAKE */
	struct io_submitter other; /* whose I/O it waited for last */
	struct io_file file;       /* what it was when these were found */
	char fs[IO_NAME_LEN];
	__u32 dev;
	__u32 of_fs; /* the file is one of a file system */
	__u32 to;    /* the disk of its last I/O */
	__s32 user;  /* the stack where it was made; PLUMB_LOST_STACK: not taken yet */
	__u32 tgid;  /* of that */
	__u32 pad;
	__u64 task; /* address: for the loader */
};
#define PLUMB_THREAD_OWN io_call

/* Without a branch, of which each doubles what the verifier checks: both are less than 2^63. */
static __always_inline __u64 at_most(__u64 n, __u64 limit)
{
	__u64 less = (n - limit) >> 63;

	barrier_var(less);
	return limit + (n - limit) * less;
}

/* The part of the time in which no I/O explains what the thread waits for. */
static __always_inline enum io_part call_waits(const struct io_call *c)
{
	return c->limited && c->waits >= IO_WAITS_IO && !c->done         ? IO_LIMIT
	       : c->waits == IO_WAITS_LIMIT                              ? IO_LIMIT
	       : c->waits == IO_WAITS_CACHE                              ? IO_CACHE
	       : c->waits == IO_WAITS_FS || c->waits == IO_WAITS_FS_ONLY ? IO_FS
									 : IO_UNEXPLAINED;
}

/* Whether it can be I/O of others: once I/O of its own has ended, it waits for the wakeup. */
static __always_inline bool call_can_wait_for_others(const struct io_call *c)
{
	return c->waits >= IO_WAITS_IO && !c->done;
}

/* That of the file. A file system can have several (btrfs): then that to which I/O of the call
 * went. */
static __always_inline struct io_disk *call_disk(const struct io_call *c)
{
	return disk_get(c->dev ?: c->to);
}

/* Divide NS ns, in which the call had nothing in the device. */
static __always_inline void call_explain(struct io_call *c, __u64 ns, __u64 now)
{
	bool own = c->bios > 0;
	struct io_disk *d = NULL;
	__u64 device, queue;

	if (own && (c->held > 0 || c->waits == IO_WAITS_LIMIT)) {
		io_add(c->slept[IO_LIMIT], ns);
		return;
	}
	if (own ? c->flushes > 0 : call_can_wait_for_others(c))
		d = call_disk(c);
	if (!d) {
		io_add(c->slept[own ? IO_QUEUE : call_waits(c)], ns);
		return;
	}
	disk_account(d, now);
	/* The device's flush is made for all requests that ask for one, by none of them. */
	if (own) {
		device = at_most(d->times.flush - c->before.flush, ns);
		io_add(c->slept[IO_DEVICE], device);
		io_add(c->slept[IO_QUEUE], ns - device);
		return;
	}
	device = at_most(d->times.device - c->before.device, ns);
	queue = at_most(d->times.queue - c->before.queue, ns - device);
	io_add(c->slept[IO_OTHER_DEVICE], device);
	io_add(c->slept[IO_OTHER_QUEUE], queue);
	io_add(c->slept[call_waits(c)], ns - device - queue);
	if (device + queue)
		c->other = d->by;
}

static __always_inline void call_account(struct io_call *c, __u64 now)
{
	__u64 ns = clock_claim(&c->last, now);

	if (!ns || c->waits == IO_RUNS)
		return;
	if (c->in_device > 0)
		io_add(c->slept[IO_DEVICE], ns);
	else
		call_explain(c, ns, now);
}

/* After a change, and when the thread leaves: what the disk has done is compared with this. */
static __always_inline void call_note_disk(struct io_call *c, __u64 now)
{
	struct io_disk *d;

	if (c->waits == IO_RUNS || c->in_device > 0)
		return;
	d = call_disk(c);
	if (!d)
		return;
	disk_account(d, now);
	c->before = d->times;
}

/* A call begins, on the file's disk C->dev. */
static __always_inline void call_begin(struct io_call *c, __u64 now)
{
	int i;

	c->id = c->last = now;
	c->waits = IO_RUNS;
	c->bios = c->in_device = c->flushes = c->held = 0;
	c->done = 0;
	c->other.tid = c->to = 0;
	c->user = PLUMB_LOST_STACK;
	c->tgid = 0;
	for (i = 0; i < IO_PARTS; i++)
		c->slept[i] = c->ns[i] = 0;
}

static __always_inline void call_leaves(struct io_call *c, enum io_wait waits, __u64 now)
{
	call_account(c, now);
	c->waits = waits;
	c->done = 0;
	call_note_disk(c, now);
}

static __always_inline void call_woken(struct io_call *c, __u64 now)
{
	call_account(c, now);
	c->waits = IO_RUNS;
}

/* The thread was blocked for SLEPT ns, until UNTIL. */
static __always_inline void call_is_back(struct io_call *c, __u64 slept, __u64 until)
{
	__u64 left = slept, sum = 0, part;
	int i;

	if (c->waits != IO_RUNS)
		call_woken(c, until);
	for (i = IO_DEVICE; i < IO_PARTS; i++) {
		sum += c->slept[i];
		part = at_most(c->slept[i], left);
		c->ns[i] += part;
		left -= part;
		c->slept[i] = 0;
	}
	c->ns[IO_UNEXPLAINED] += left;
	/* The wakeup is read from the clock twice, with other programs in between. */
	if (sum > slept + 100000)
		io_count(exceeded);
}
