/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of syscall-slower. */
#pragma once

#include <plumb/bpf/key/key.h>
#include <plumb/bpf/sched/meanwhile.h>
#include <plumb/bpf/sched/return.h>
#include <plumb/bpf/sched/split.h>
#include <plumb/bpf/sched/waits.h>
#include <plumb/bpf/sched/waker.h>
#include <plumb/bpf/syscall/descriptor.h>

struct slow_call {
	__u64 end; /* ns, CLOCK_MONOTONIC */
	__u64 ns;
	__u64 at_most; /* ns; 0: NS is exact, else it is at least NS, and END and RET are unknown */
	__u64 off[PLUMB_RETURN_PARTS];
	__u64 arguments[6];
	__s64 ret;
	__u64 cgroup;
	__u32 pid, tid;
	__u32 nr, abi;
	__u32 cpu;
	/* With --stacks: of its longest time off the CPU.  longest is 0: it never left the CPU. */
	__u32 preempted;
	__u64 longest, longest_wait; /* ns; ns of these on the run queue */
	__s32 kernel, user;
	__u32 has_arguments, asked_known;
	__u64 asked[2]; /* the time that an argument points to, as it was at the entry */
	__u32 held_by;  /* enum plumb_return_cause: of the longest wait on its way out */
	__u64 replaces; /* a call is recorded again: its end in the record that was recalled; else 0
			 */
	/* Of its longest sleep, and of its longest preemption; unknown: none, or not known. */
	struct plumb_waker woken_by, preempted_by;
	char comm[PLUMB_COMM_LEN];
};

/* What its descriptors are follows a call that has some, its waits one that waited. */
struct slow_record {
	struct slow_call call;
	struct plumb_descriptor descriptors[2];
	struct plumb_waits waits; /* of the call, of all together */
};

/*
 * Follows the record of a call whose thread is held on its way out, and which will be recorded
 * again.  Records are printed PRINTED_AFTER their end at the earliest (in-order.h).  Neither this
 * nor the new record wakes the loader within RECALLED_WITHIN.
 */
struct recall {
	__u64 end;
	__u32 tid, pad;
};
#define RECALLED_WITHIN 40000000 /* ns after the end of the call */
#define PRINTED_AFTER   50000000
