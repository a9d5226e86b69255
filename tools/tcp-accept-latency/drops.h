/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * drops: what the kernel dropped for each listening socket of TCP, also for one that accepts
 * nothing, as sock_diag(7) says; in the network namespace of the first process of -p, or of the
 * tool.
 */
#pragma once

#include <plumb/core/options.h>
#include <plumb/core/run.h>
#include <plumb/syscalls/peers.h>

#include "tcp-accept-latency.h"

struct listening {
	uint64_t inode;
	struct tcp_address address;
	uint32_t port;
	uint32_t drops, before; /* now, and when the trace began */
	uint32_t waiting, backlog;
	struct plumb_peer holder; /* a process that has it open; pid 0: not known */
};

/* Before the tool is confined. */
void drops_prepare(const struct plumb_options *o);

/* Before the trace, and before each report. */
void drops_settle(const struct plumb_run *run);

/* Whether the kernel shows them. */
bool drops_are_known(void);

/*
 * The next one behind S (NULL: the first) that O selects and for which something was dropped in the
 * trace; NULL: there is none.
 */
const struct listening *drops_next(const struct listening *s, const struct plumb_options *o);
