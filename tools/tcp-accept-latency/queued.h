/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * queued: connections that wait to be accepted now.  The programs know since when; the listening
 * sockets of TCP, who holds them, and what waited before the trace is in /proc.
 */
#pragma once

#include <plumb/core/inflight.h>
#include <plumb/core/options.h>
#include <plumb/syscalls/peers.h>

#include "tcp-accept-latency.h"

struct queued {
	struct accept_state state; /* start 0: from before the trace */
	uint32_t pid;              /* a process that has the listening socket open; 0: not known */
	bool is_known;             /* LISTENER, the address of the listening socket (TCP) */
	struct tcp_address listener;
};

/* Before the tool is confined. */
void queued_prepare(void);
/*
 * When programs are attached: notes what waits already, of which O may select.  What comes
 * meanwhile is noted twice.
 */
void queued_settle(const struct plumb_options *o);

/* As plumb_inflight.read_rest.  Selected by anything else than processes, there are none. */
void queued_read(const struct plumb_run *run, struct plumb_flights *to);

/* By plumb_flight.what. */
const struct queued *queued_at(uint64_t what);

/* Of the process that has the socket INODE open, one of -p if there are any; pid 0: not known. */
void queued_find_holder(uint64_t inode, const struct plumb_run *run, struct plumb_peer *peer);
