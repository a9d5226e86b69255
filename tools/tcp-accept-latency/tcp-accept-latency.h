/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF program of tcp-accept-latency. */
#pragma once

#include <plumb/bpf/net/accept.h>
#include <plumb/bpf/net/ends.h>

/* What the tool adds to --by, besides those of bpf/net/ends.h. */
#define ACCEPT_BY_LISTENER (TCP_BY_TOOL << 0)

#define ACCEPT_STATES    32768 /* connections in queues; beyond them, some are lost */
#define ACCEPT_LISTENERS 4096
#define ACCEPT_PATH      108 /* UNIX_PATH_MAX */

struct accept_key {
	struct plumb_who who; /* the thread that called accept() */
	struct tcp_ends ends; /* empty, of a unix socket */
	__u64 listener;       /* the inode of its socket; 0: not known */
};
_Static_assert(sizeof(struct accept_key) == 104, "no hidden padding in a hash key");

/* A connection that nobody has accepted yet, by its socket; of unix sockets by that of the peer. */
struct accept_state {
	__u64 start;    /* ns, CLOCK_MONOTONIC; 0: it was accepted, or is gone */
	__u64 listener; /* of unix sockets: its name, as key of a listening socket; 0: not known yet
			 */
	__u32 family;
	__u16 lport, rport;
	struct tcp_address laddr, raddr;
	__u32 netns;
	__u32 pid; /* of unix sockets: the process that called listen(); 0: not known */
};
_Static_assert(sizeof(struct accept_state) == 64, "no hidden padding in a map's value");

/*
 * A listening socket, by its inode, as it was when a connection was accepted last; of a unix socket
 * also its name alone, by the kernel's address of that.
 */
struct accept_listener {
	__u32 family, path_length;
	struct tcp_address address;
	__u32 port;
	__u32 backlog;      /* connections that may wait */
	__u32 longest;      /* those that waited at most when one was accepted, this one included */
	__u32 drops_before; /* of connections by the kernel, at listen() or the first accept(), */
	__u32 drops;        /* and at the last */
	__u32 pad;
	char path[ACCEPT_PATH];
	__u32 pad2;
};
_Static_assert(sizeof(struct accept_listener) == 160, "no hidden padding in a map's value");
