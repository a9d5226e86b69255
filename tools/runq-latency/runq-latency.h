/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of runq-latency. */
#pragma once

#include <plumb/bpf/sched/waits.h>

/* plumb_config.meanwhile: of which waits it is told what happened meanwhile. */
#define RUNQ_TELL_ALL  1 /* --who */
#define RUNQ_TELL_SLOW 2 /* --slower only */

/* A wait, for --slower. */
struct runq_wait {
	__u64 end; /* ns, CLOCK_MONOTONIC */
	__u64 ns;
	__u64 cgroup;
	__u32 pid, tid;
	__u32 cpu; /* on which the thread then ran */
	__u32 pad;
	char comm[PLUMB_COMM_LEN];
	struct plumb_waits waits;
};
