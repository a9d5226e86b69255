/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * peers: the processes of this machine at the other ends of pipes and sockets.
 *
 * The kernel keeps no owner of an end.  So the processes that have it open are looked up in
 * /proc/PID/fd, when a descriptor is printed.  What was found counts for a second.  To look takes a
 * tenth of a CPU's time at most, and 1 s at once; beyond that nothing is found.  /proc/PID/net has
 * the other ends of connections over TCP and UDP.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/key/key.h>
#include <plumb/bpf/syscall/descriptor.h>

enum plumb_peer_source {
	PLUMB_PEER_UNKNOWN,
	PLUMB_PEER_HAS_OPEN,    /* it has the other end open */
	PLUMB_PEER_CREDENTIALS, /* it connected, or listened, as SO_PEERCRED says */
	PLUMB_PEER_WAKEUP,      /* its write woke the reader, or its read the writer */
};

struct plumb_peer {
	enum plumb_peer_source source;
	uint32_t pid;
	uint32_t others; /* processes that have the same end open */
	char comm[PLUMB_COMM_LEN];
};

/* Keep what it takes to look at other processes, before the tool is confined. */
void plumb_peers_retain(void);

/*
 * The process at the other end of D, a descriptor of process PID; of several, PREFERRED, or another
 * one than PID.  False: none is known; PEER->source says so, too.
 */
bool plumb_peer_find(const struct plumb_descriptor *d, uint32_t pid, uint32_t preferred,
		     struct plumb_peer *peer);

/* Whether SPENT, CPU time of this thread, since FIRST, is not too much. */
bool plumb_peers_may_look(uint64_t spent, uint64_t first);

/* --- proc-net.c: sockets, as a network namespace lists them --- */

/* Addresses are those of IPv6; of IPv4, mapped to them. */
struct plumb_net_socket {
	uint32_t local[4], remote[4];
	uint16_t local_port, remote_port;
	uint32_t state; /* include/net/tcp_states.h */
	uint64_t inode; /* 0: no process has it yet, or any more */
	bool six;       /* of the list of IPv6 */
};

/*
 * Looks in /proc/PID/net/NAME ("tcp", "udp") and that of IPv6 for the socket that is the BEST: IS
 * returns 0 if it is not the one that is sought, else how well it fits, at most 2.  At most
 * PLUMB_NET_SOCKETS are read.  False: there is none.
 */
#define PLUMB_NET_SOCKETS 65536
bool plumb_net_find(uint32_t pid, const char *name,
		    int (*is)(const struct plumb_net_socket *s, const void *context),
		    const void *context, struct plumb_net_socket *best);
