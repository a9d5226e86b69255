/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the loader and the BPF programs of tcp-sendmsg-lat. */
#pragma once

#include <plumb/bpf/core/config.h>
#include <plumb/bpf/net/ends.h>
#include <plumb/bpf/syscall/syscall.h>

/* Keys that the tool adds to --by, besides those of bpf/net/ends.h. */
#define TCP_BY_SIZE  (TCP_BY_TOOL << 0)
#define TCP_BY_ERRNO (TCP_BY_TOOL << 1)
#define TCP_BY_LABEL (TCP_BY_TOOL << 2)

struct send_key {
	struct plumb_who who;
	struct tcp_ends ends;
	__u64 size;  /* the lowest of its class */
	__u32 error; /* positive errno, 0 for success */
	__u32 label; /* 1 + index in the table of labels; 0: none */
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
