/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of tcp-sendmsg-lat. */
#pragma once

#include <plumb/bpf/core/config.h>
#include <plumb/bpf/syscall/syscall.h>

/* Keys that the tool adds to --by. */
#define TCP_BY_RADDR (PLUMB_BY_TOOL << 0)
#define TCP_BY_RPORT (PLUMB_BY_TOOL << 1)
#define TCP_BY_LADDR (PLUMB_BY_TOOL << 2)
#define TCP_BY_LPORT (PLUMB_BY_TOOL << 3)
#define TCP_BY_SIZE  (PLUMB_BY_TOOL << 4)
#define TCP_BY_ERRNO (PLUMB_BY_TOOL << 5)
#define TCP_BY_NETNS (PLUMB_BY_TOOL << 6)
#define TCP_BY_LABEL (PLUMB_BY_TOOL << 7)
/* The server's port only: the local one of an accepted connection, else the remote one. */
#define TCP_BY_PORT (PLUMB_BY_TOOL << 8)

/* IPv6, in network order; an IPv4 address is ::ffff:a.b.c.d, whatever its socket's family. */
struct tcp_address {
	union {
		__u8 bytes[16];
		__u32 words[4];
		__u64 halves[2];
	};
};

struct send_key {
	struct plumb_who who;
	struct tcp_address raddr, laddr;
	__u64 size;         /* the lowest of its class */
	__u16 rport, lport; /* in host byte order; with TCP_BY_PORT one of them is 0 */
	__u32 error;        /* positive errno, 0 for success */
	__u32 netns;        /* its inode number */
	__u32 label;        /* 1 + index in the table of labels; 0: none */
};
_Static_assert(sizeof(struct send_key) == 112, "no hidden padding in a hash key");

struct send_bytes {
	__u64 asked, sent;
};

/* A thread's last message, while the thread is not back in user mode. */
struct send_last {
	struct send_bytes bytes;
	struct send_key key; /* if it did not take --min */
	__u64 call;          /* the system call, and above it its table */
	__u64 fd;            /* its first argument */
};

/* Addresses that agree with ADDRESS where MASK has ones; elsewhere ADDRESS has zeroes. */
struct tcp_prefix {
	struct tcp_address address, mask;
};

/* A range with both its bounds. */
struct tcp_ports {
	__u16 from, to;
};

/*
 * Selects an end of a connection: its address must match any of the prefixes, and its port any of
 * the ranges.  An empty list matches all.
 */
struct tcp_filter {
	__u32 n_prefixes, n_ports;
	struct tcp_prefix prefixes[PLUMB_MAX_LIST];
	struct tcp_ports ports[PLUMB_MAX_LIST];
};

struct tcp_config {
	struct tcp_filter remote, local;
	__u64 min_size, max_size; /* bytes asked, inclusive bounds */
	__u64 min_ns;
	__u64 size_step; /* width of classes in bytes; 0: powers of two from 1 KiB */
	__u32 only_errors;
	__u32 pad;
	/* The system calls whose third argument is the size of the message. */
	__u64 sized[2 * PLUMB_SYSCALLS / 64];
};

/*
 * Labels, in a trie that finds the longest prefix.  Before the address is the port: a lookup first
 * searches the entries for this port, then those for all ports, which have port 0.
 */
struct tcp_label_key {
	__u32 bits; /* of port and address: 32 + those of the prefix */
	__u32 port;
	struct tcp_address address;
};
_Static_assert(sizeof(struct tcp_label_key) == 24, "no hidden padding in a trie's key");
