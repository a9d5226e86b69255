/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config: what a loader tells its BPF program before it is loaded.
 *
 * It lies in .rodata, so the verifier knows every value: a filter that is not
 * asked for costs nothing, its code is removed.  Unused lists have length 0.
 */
#ifndef PLUMB_CONFIG_H
#define PLUMB_CONFIG_H

#include <plumb/bpf/core/glob.h>
#include <plumb/bpf/key/key.h>

/* Entries of each filter list (-p, -t, -c, -g). */
#define PLUMB_MAX_LIST 64

struct plumb_config {
	/* filter */
	__u32 self; /* tgid of the tool, which does not trace itself; 0: it does */
	__u32 npids, ntids, ncomms, ncgroups;
	__u32 descendants; /* only the processes in the map plumb_descendants */
	__u32 pids[PLUMB_MAX_LIST];
	__u32 tids[PLUMB_MAX_LIST];
	char comms[PLUMB_MAX_LIST][PLUMB_COMM_LEN]; /* padded with zeroes */
	struct plumb_globs globs;                   /* besides these names */
	/* inflight */
	__u32 task_storage; /* 1: task storage (5.13), 0: a hash keyed by task */
	/* key */
	__u32 by; /* PLUMB_BY_* and the tool's own bits */
	/* hist */
	__u32 cpus;    /* possible CPUs */
	__u32 slots;   /* --max-keys, and [other] */
	__u32 second;  /* slots behind the first of which each key's second measure is; 0: none */
	__u32 split;   /* calls are to know where their time went (split.h) */
	__u32 off_cpu; /* calls are also to know how long they had no CPU */
	__u32 waits;   /* waits for a CPU are timed from the wakeup (sched.bpf.h) */
	__u32 wakers;  /* ... and it is noted who woke (waker.h) */
	__u32 preempt_count; /* where it can be read (waker.h) */
	__u32 precision, buckets;
	__u32 shards;      /* histograms a slot, a power of two unless it is cpus */
	__u32 exclusive;   /* a shard has one CPU: no atomics */
	__u32 unguarded;   /* programs of fentry's kind can come upon themselves (before 5.12) */
	__u32 preemptible; /* ... of both ends can be preempted, and are skipped meanwhile */
	__u32 interleaved; /* our programs can interrupt each other on a CPU: only atomics */
};

#endif
