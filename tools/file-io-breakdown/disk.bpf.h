/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * disk: for how long each disk has had I/O in its device and in its queue.
 *
 * Bios and requests begin and end on any CPU, at any time. Each disk has counters of those in
 * flight, changed by atomic additions, and the time up to which its state is accounted for. The
 * CPU that moves this time forward, by compare-and-exchange, adds what lies between to the sum of
 * the state, so that each ns is added once. If two CPUs do so within some ns, the state of one may
 * be taken for that of both.
 */
#pragma once

#include "file-io-breakdown.h"
#include <plumb/bpf/core/common.bpf.h>

struct io_counts io_counts = {};

#define io_count(what)        atomic_add(&io_counts.what, 1)
#define io_add(counter, more) atomic_add(&(counter), more)

/* The time that was not accounted for up to NOW; 0: another CPU has it. */
static __always_inline __u64 clock_claim(__u64 *last, __u64 now)
{
	__u64 from = *(volatile __u64 *)last;

	/* Clocks of CPUs can differ a little. */
	if ((__s64)(now - from) <= 0)
		return 0;
	/* Before 5.12 the loader replaces it by a store, which always succeeds. */
	if (__sync_val_compare_and_swap(last, from, now) != from)
		return 0;
	return now - from;
}

struct disk_times {
	__u64 device; /* ns with a request in the device */
	__u64 queue;  /* ns with bios, but nothing in the device */
	__u64 flush;  /* ns with a flush in the device */
};

struct io_disk {
	__u64 last;                     /* ns, CLOCK_MONOTONIC */
	__s64 bios, in_device, flushes; /* in flight */
	struct disk_times times;
	struct io_submitter by; /* of the bio that completed last */
	__u32 above;            /* the stacked disk that asked for a flush last; 0: none */
	__u32 pad;
};

/* By number: major << 20 | minor. */
PLUMB_MAP(io_disks, LRU_HASH, IO_DISKS, __u32, struct io_disk);

static __always_inline struct io_disk *disk_get(__u32 dev)
{
	return dev ? bpf_map_lookup_elem(&io_disks, &dev) : NULL;
}

static __always_inline struct io_disk *disk_make(__u32 dev, __u64 now)
{
	struct io_disk fresh = {.last = now}, *d = disk_get(dev);

	if (d || !dev)
		return d;
	bpf_map_update_elem(&io_disks, &dev, &fresh, BPF_NOEXIST);
	return disk_get(dev);
}

static __always_inline void disk_account(struct io_disk *d, __u64 now)
{
	__u64 ns = clock_claim(&d->last, now);

	if (!ns)
		return;
	if (d->in_device > 0)
		io_add(d->times.device, ns);
	else if (d->bios > 0)
		io_add(d->times.queue, ns);
	if (d->flushes > 0)
		io_add(d->times.flush, ns);
}

/* The counters of the disk change at NOW. */
static __always_inline void disk_change(__u32 dev, __u64 now, __s64 bios, __s64 in_device,
					__s64 flushes)
{
	struct io_disk *d = disk_make(dev, now);

	if (!d)
		return;
	disk_account(d, now);
	if (bios)
		io_add(d->bios, bios);
	if (in_device)
		io_add(d->in_device, in_device);
	if (flushes)
		io_add(d->flushes, flushes);
}
