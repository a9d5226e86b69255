/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ends, BPF side: of a socket, or of the request for one (struct request_sock begins as a socket).
 */
#pragma once

#include <plumb/bpf/core/peek.bpf.h>
#include <plumb/bpf/core/socket.bpf.h>
#include <plumb/bpf/net/ends.h>
#include <bpf/bpf_endian.h>

static __always_inline bool socket_is_tcp(const struct sock *sk)
{
	__u16 family = socket_family(sk);

	return (family == SOCKET_INET || family == SOCKET_INET6) &&
	       BPF_CORE_READ(sk, sk_protocol) == IPPROTO_TCP;
}

static __always_inline void ends_map_address(struct tcp_address *a, __u32 ipv4)
{
	a->halves[0] = 0;
	a->words[2] = bpf_htonl(0xffff);
	a->words[3] = ipv4;
}

/* The beginning of a socket, which has the addresses: one read is cheaper than one of each. */
struct ends_head {
	__u64 words[16];
};

/* Its members, whose offsets are the kernel's. */
static __always_inline const struct sock_common *ends_head(struct ends_head *h,
							   const struct sock *sk)
{
	bpf_probe_read_kernel(h, sizeof(*h), sk);
	return (const struct sock_common *)h;
}

static __always_inline bool ends_head_is_ip(const struct sock_common *c)
{
	return c->skc_family == SOCKET_INET || c->skc_family == SOCKET_INET6;
}

static __always_inline void ends_head_address(const struct sock_common *c, struct tcp_address *a,
					      bool remote)
{
	if (c->skc_family == SOCKET_INET6 && bpf_core_field_exists(c->skc_v6_daddr))
		__builtin_memcpy(a, remote ? &c->skc_v6_daddr : &c->skc_v6_rcv_saddr, sizeof(*a));
	else
		ends_map_address(a, remote ? c->skc_daddr : c->skc_rcv_saddr);
}

static __always_inline void ends_address(const struct sock *sk, struct tcp_address *a, bool remote)
{
	if (socket_family(sk) == SOCKET_INET6 &&
	    bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		if (remote)
			BPF_CORE_READ_INTO(a, sk, __sk_common.skc_v6_daddr);
		else
			BPF_CORE_READ_INTO(a, sk, __sk_common.skc_v6_rcv_saddr);
		return;
	}
	ends_map_address(a, remote ? BPF_CORE_READ(sk, __sk_common.skc_daddr)
				   : BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
}

/* The local port is read from inet_sport, since skc_num is cleared when a reset releases it. */
static __always_inline __u16 ends_port(const struct sock *sk, bool remote)
{
	__be16 port = remote ? BPF_CORE_READ(sk, __sk_common.skc_dport)
			     : BPF_CORE_READ((struct inet_sock *)sk, inet_sport);

	return bpf_ntohs(port);
}

/*
 * Return whether the connection was accepted.  Its socket is then a copy of the listening one, with
 * the backlog of listen(); a socket that connected has none.
 */
static __always_inline bool ends_accepted(const struct sock *sk)
{
	return BPF_CORE_READ(sk, sk_max_ack_backlog);
}

static __always_inline __u32 ends_netns(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
}

/*
 * What of ALL rows are grouped by; E is zeroed.  ACCEPTED: the connection was, if that is asked.
 * REQUEST: SK is a request for a connection, else its local port is read here.
 */
static __always_inline void ends_select(struct tcp_ends *e, const struct tcp_ends *all,
					const struct sock *sk, bool accepted, bool request)
{
	const bool by_server = plumb_config.by & TCP_BY_PORT;

	if (plumb_config.by & TCP_BY_RADDR)
		e->raddr = all->raddr;
	if (plumb_config.by & TCP_BY_LADDR)
		e->laddr = all->laddr;
	if (plumb_config.by & TCP_BY_RPORT && !(by_server && accepted))
		e->rport = all->rport;
	if (plumb_config.by & TCP_BY_LPORT && (accepted || !by_server))
		e->lport = request ? all->lport : ends_port(sk, false);
	if (plumb_config.by & TCP_BY_NETNS)
		e->netns = ends_netns(sk);
}

/* Those by which rows are grouped; E is zeroed.  REQUEST: SK, of head C, is a request for a
 * connection. */
static __always_inline void ends_fill_of(struct tcp_ends *e, const struct sock_common *c,
					 const struct sock *sk, bool request)
{
	const bool by_server = plumb_config.by & TCP_BY_PORT;
	const bool accepted = by_server && (request || ends_accepted(sk));

	if (plumb_config.by & TCP_BY_RADDR)
		ends_head_address(c, &e->raddr, true);
	if (plumb_config.by & TCP_BY_LADDR)
		ends_head_address(c, &e->laddr, false);
	if (plumb_config.by & TCP_BY_RPORT && !accepted)
		e->rport = bpf_ntohs(c->skc_dport);
	if (plumb_config.by & TCP_BY_LPORT && (accepted || !by_server))
		e->lport = request ? c->skc_num : ends_port(sk, false);
	if (plumb_config.by & TCP_BY_NETNS)
		e->netns = ends_netns(sk);
}

static __always_inline void ends_fill(struct tcp_ends *e, const struct sock *sk, bool request)
{
	struct ends_head head;

	ends_fill_of(e, ends_head(&head, sk), sk, request);
}

/* --- in functions that are inlined into programs (core/peek.bpf.h) --- */

/* Of a socket, the words in which its family, state, ports and addresses of IPv4 are everywhere. */
struct ends_start {
	__u64 words[3];
};

static __always_inline const struct sock_common *ends_peek(struct ends_start *s,
							   const struct sock *sk)
{
	peek_words(s->words, sk, sizeof(s->words) / sizeof(*s->words));
	return (const struct sock_common *)s;
}

/* C: from ends_peek(). */
static __always_inline void ends_peek_address(const struct sock_common *c, const struct sock *sk,
					      struct tcp_address *a, bool remote)
{
	if (c->skc_family == SOCKET_INET6 && bpf_core_field_exists(c->skc_v6_daddr))
		peek_words(a->halves,
			   (const void *)sk + (remote ? bpf_core_field_offset(c->skc_v6_daddr)
						      : bpf_core_field_offset(c->skc_v6_rcv_saddr)),
			   2);
	else
		ends_map_address(a, remote ? c->skc_daddr : c->skc_rcv_saddr);
}
