/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF program of tcp-connect-latency. */
#pragma once

#include <plumb/bpf/net/ends.h>

/* What the tool adds to --by, besides those of bpf/net/ends.h. */
#define CONNECT_BY_RESULT (TCP_BY_TOOL << 0)

/* Connections that are being made; beyond them, some are lost. */
#define CONNECT_STATES 32768
#define CONNECT_KEPT   1024 /* besides, states of such that have ended, at most */

/* Results that are no errno. */
#define CONNECT_CLOSED 4096 /* the process gave up: close(), shutdown(), AF_UNSPEC */
#define CONNECT_FAILED 4097 /* connect() failed itself: no port was free, no memory, ... */

struct connect_key {
	struct plumb_who who; /* the thread that called connect() */
	struct tcp_ends ends;
	__u32 result; /* positive errno or one of the above; 0: established */
	__u32 pad;
};
_Static_assert(sizeof(struct connect_key) == 104, "no hidden padding in a hash key");

/* A connection that is being made. */
struct connect_state {
	struct plumb_who who;
	__u64 start; /* ns, CLOCK_MONOTONIC; 0: it has ended */
	__u32 pid, tid;
	struct tcp_address raddr; /* for the list of those in flight */
	__u32 rport;
	__u32 rejected; /* by the filters */
};
_Static_assert(sizeof(struct connect_state) == 96, "no hidden padding in a map's value");
