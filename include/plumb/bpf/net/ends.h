/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ends: the addresses and ports of a connection, as keys of rows.  They follow struct plumb_who in
 * a tool's key.
 */
#pragma once

#include <plumb/bpf/key/key.h>

#define TCP_BY_RADDR (PLUMB_BY_TOOL << 0)
#define TCP_BY_RPORT (PLUMB_BY_TOOL << 1)
#define TCP_BY_LADDR (PLUMB_BY_TOOL << 2)
#define TCP_BY_LPORT (PLUMB_BY_TOOL << 3)
#define TCP_BY_NETNS (PLUMB_BY_TOOL << 4)
/* The server's port only: the local one of an accepted connection, else the remote one. */
#define TCP_BY_PORT (PLUMB_BY_TOOL << 5)
/* The tool's own bits. */
#define TCP_BY_TOOL (PLUMB_BY_TOOL << 6)

#define TCP_BY_SERVER_PORT (TCP_BY_RPORT | TCP_BY_LPORT | TCP_BY_PORT)

/* IPv6, in network order; an IPv4 address is ::ffff:a.b.c.d, whatever its socket's family. */
struct tcp_address {
	union {
		__u8 bytes[16];
		__u32 words[4];
		__u64 halves[2];
	};
};

struct tcp_ends {
	struct tcp_address raddr, laddr;
	__u16 rport, lport; /* in host byte order; with TCP_BY_PORT one of them is 0 */
	__u32 netns;        /* its inode number */
};
_Static_assert(sizeof(struct tcp_ends) == 40, "no hidden padding in a hash key");
