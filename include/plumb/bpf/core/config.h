/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * config: the settings that a loader writes into its BPF program before loading it.
 *
 * They are in .rodata, so the verifier knows every value and removes the code of unused filters.
 * Unused lists have length 0.
 */
#pragma once

#include <plumb/bpf/core/glob.h>
#include <plumb/bpf/key/key.h>

/* Entries of each filter list (-p, -t, -c, -g). */
#define PLUMB_MAX_LIST 64

/* In place of bpf_rdonly_cast() (peek.bpf.h), as the loader does not know it before. */
#define PLUMB_CAST_UNSET 0x7e570001

/* CPUs that Linux supports, at most (NR_CPUS of x86). */
#define PLUMB_CPUS 8192

struct plumb_config {
	/* filter */
	__u32 self; /* tgid of the tool, which is not traced; 0: the tool is traced too */
	__u32 npids, ntids, ncomms, ncgroups;
	__u32 limited;       /* what begins after plumb_deadline is not recorded */
	__u32 descendants;   /* only the processes in the map plumb_descendants */
	__u32 pid_namespace; /* whose pids and tids are used, by inode; 0: the host's */
	__u32 pids[PLUMB_MAX_LIST];
	__u32 tids[PLUMB_MAX_LIST];
	char comms[PLUMB_MAX_LIST][PLUMB_COMM_LEN]; /* padded with zeroes */
	struct plumb_globs globs;                   /* patterns, in addition to comms */
	/* inflight */
	__u32 task_storage; /* 1: task storage (5.13), 0: a hash keyed by task */
	/* key */
	__u32 by; /* PLUMB_BY_* and the tool's own bits */
	/* hist */
	__u32 cpus;      /* possible CPUs */
	__u32 slots;     /* --max-keys + 1, for [other] */
	__u32 second;    /* offset from a key's slot to the slot of its second measure; 0: none */
	__u32 split;     /* 1: split the time of calls into parts (split.h) */
	__u32 parts;     /* parts of that time which are off the CPU */
	__u32 off_cpu;   /* 1: also measure the off-CPU time of calls */
	__u32 waits;     /* 1: time waits for a CPU from the wakeup (sched.bpf.h) */
	__u32 meanwhile; /* 1: sum up what happened while threads waited (meanwhile.bpf.h) */
	__u32 wakers;    /* record wakers: 0 or PLUMB_WAKERS_* (waker.h) */
	__u32 preempt_count; /* PLUMB_PREEMPT_COUNT_*: how to read the preemption count (waker.h) */
	__u32 precision, buckets;
	__u32 shards;      /* histograms per slot: cpus, or a power of two */
	__u32 exclusive;   /* 1: one CPU per shard, so no atomics are needed */
	__u32 unguarded;   /* 1: fentry and fexit programs can recurse (before 5.12) */
	__u32 preemptible; /* 1: they can be preempted, and are skipped on that CPU meanwhile */
	__u32 interleaved; /* 1: programs can interrupt each other on a CPU: only atomics */
	__u32 word_type;   /* of peek.bpf.h: a BTF ID, 0: no plain loads */
	__u32 user_stacks; /* PLUMB_USER_STACKS_*: how they are walked (stack/unwind.h) */
};
