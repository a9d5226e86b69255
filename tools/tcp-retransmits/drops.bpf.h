/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * drops: the segments that this host dropped lately, by addresses, ports and sequence numbers.  Of
 * headers only what tells segments apart is read.
 */
#pragma once

#include "tcp-retransmits.h"
#include <plumb/bpf/net/ends.bpf.h>

/* What a reason says; by number, of those below RESENT_REASONS. */
const volatile __u8 resent_verdicts[RESENT_REASONS] = {};

struct resent_drop resent_drops[RESENT_DROPS] = {};
static __u32 resent_next[1 << RESENT_SET_BITS] = {};
__u64 resent_dropped = 0; /* segments that were kept there */
__u64 resent_joined = 0;  /* of these, how many were retransmitted */

/* A number for the direction of a connection. */
static __always_inline __u64 drops_id(const struct tcp_address *from, const struct tcp_address *to,
				      __u16 from_port, __u16 to_port)
{
	const __u64 golden = 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	__u64 id = (__u64)from_port << 16 | to_port;

	id = (id ^ from->halves[0]) * golden;
	id = (id ^ id >> 29 ^ from->halves[1]) * golden;
	id = (id ^ id >> 29 ^ to->halves[0]) * golden;
	id = (id ^ id >> 29 ^ to->halves[1]) * golden;
	return (id ^ id >> 29) | 1; /* never 0 */
}

static __always_inline struct resent_drop *drops_at(__u64 id, __u32 way)
{
	__u64 at = (id >> 32 << RESENT_WAY_BITS) + (way & ((1 << RESENT_WAY_BITS) - 1));

	barrier_var(at); /* keeps the mask last, which the verifier of 5.10 needs */
	return &resent_drops[at & (RESENT_DROPS - 1)];
}

static __always_inline void drops_add(const struct resent_drop *d)
{
	__u64 set = d->id >> 32;
	__u32 *next;

	barrier_var(set);
	next = &resent_next[set & ((1 << RESENT_SET_BITS) - 1)];
	*drops_at(d->id, (*next)++) = *d;
	atomic_add(&resent_dropped, 1);
}

/* --- copies of what may have arrived --- */

/*
 * Of segments that were sent again although no drop of them was seen, an identity each.  The copy
 * can be one too many: TCP then discards it, which is no loss.
 */
static __u64 resent_copies[1 << RESENT_COPY_BITS] = {};

static __always_inline __u64 drops_copy(__u64 id, __u32 seq)
{
	return (id ^ seq) * 0x9e3779b97f4a7c15ULL | 1; /* Knuth, vol. 3, 6.4; never 0 */
}

static __always_inline __u64 *drops_copy_at(__u64 copy)
{
	__u64 at = copy >> (64 - RESENT_COPY_BITS);

	barrier_var(at); /* keeps the mask last, which the verifier of 5.10 needs */
	return &resent_copies[at & ((1 << RESENT_COPY_BITS) - 1)];
}

/* Notes whether the segment, which is sent again, is LOST: a drop of it was seen. */
static __always_inline void drops_note_copy(__u64 id, __u32 seq, bool lost)
{
	__u64 copy = drops_copy(id, seq), *at = drops_copy_at(copy);

	if (!lost)
		*at = copy;
	else if (*at == copy)
		*at = 0;
}

static __always_inline bool drops_is_copy(__u64 id, __u32 seq)
{
	__u64 copy = drops_copy(id, seq);

	return *drops_copy_at(copy) == copy;
}

/* Of a segment that is freed for REASON; 0: none is known. */
static __always_inline __u8 drops_verdict(__u32 reason)
{
	if (!reason)
		return RESENT_AMBIGUOUS;
	barrier_var(reason);
	return reason < RESENT_REASONS ? resent_verdicts[reason] : RESENT_LOSS;
}

/* --- what was dropped before it was sent again --- */

/* 1 if A is negative, else 0: computed, since the verifier would follow both values. */
static __always_inline __u64 drops_negative(__u32 a)
{
	return a >> 31;
}

/*
 * Return the number, from 1 on, of the latest drop before the time BEFORE of bytes of which now
 * LENGTH from SEQ on are retransmitted, for the first time since; 0: none is known.  A packet of
 * several segments is retransmitted in parts.  Not static: so the verifier sees it once.
 */
__noinline int drops_find(__u64 id, __u32 seq, __u32 length, __u64 before)
{
	__u64 set = id >> 32, other, is;
	struct resent_drop *d;
	__u32 offset, way;

	barrier_var(set);
	way = resent_next[set & ((1 << RESENT_SET_BITS) - 1)];
	for (__u32 i = 0; i < 1 << RESENT_WAY_BITS; i++) {
		d = drops_at(id, --way);
		if (!d->id) /* the set was never full */
			break;
		other = d->id ^ id;
		offset = seq - d->seq;
		is = (((other | -other) >> 63) ^ 1) & ((d->time - before) >> 63) &
		     drops_negative(offset - d->length) & drops_negative(d->sent - offset - length);
		barrier_var(is);
		if (is)
			return (way & ((1 << RESENT_WAY_BITS) - 1)) + 1;
	}
	return 0;
}

/* The same; notes that it was retransmitted.  NULL: none is known. */
static __always_inline struct resent_drop *drops_join(__u64 id, __u32 seq, __u32 length,
						      __u64 before)
{
	int found = drops_find(id, seq, length, before);
	struct resent_drop *d;

	drops_note_copy(id, seq, found > 0);
	if (found <= 0)
		return NULL;
	d = drops_at(id, found - 1);
	if (!d->sent)
		atomic_add(&resent_joined, 1);
	d->sent = seq + length - d->seq;
	return d;
}

/* --- what was dropped --- */

struct drops_headers {
	union {
		struct iphdr ip;
		struct ipv6hdr ip6;
		__u64 words[5];
	};
};

/* Fills in FROM and TO; returns the bytes of the header, 0: no segment of TCP is behind it. */
static __always_inline __u32 drops_ipv4(const struct iphdr *ip, struct tcp_address *from,
					struct tcp_address *to)
{
	/* A fragment that is not the first has no header of TCP. */
	if (ip->version != 4 || ip->protocol != IPPROTO_TCP || ip->frag_off & bpf_htons(0x1fff))
		return 0;
	ends_map_address(from, ip->saddr);
	ends_map_address(to, ip->daddr);
	return ip->ihl * 4;
}

/* With extension headers it is not known. */
static __always_inline __u32 drops_ipv6(const struct ipv6hdr *ip, struct tcp_address *from,
					struct tcp_address *to)
{
	if (ip->version != 6 || ip->nexthdr != IPPROTO_TCP)
		return 0;
	__builtin_memcpy(from, &ip->saddr, sizeof(*from));
	__builtin_memcpy(to, &ip->daddr, sizeof(*to));
	return sizeof(*ip);
}

struct drops_tcp {
	union {
		struct tcphdr header;
		__u64 words[2]; /* not all of it */
	};
};

/*
 * Whether SKB is a segment of TCP, with data or a SYN or FIN.  Its data may begin before the
 * network header (on the way out), or behind it.
 */
static __always_inline bool drops_read(const struct sk_buff *skb, struct resent_drop *d)
{
	const __u16 protocol = peek(skb, protocol);
	const unsigned char *at, *data;
	struct tcp_address from, to;
	struct drops_headers h;
	struct drops_tcp tcp;
	__u32 headers;
	__s64 length;

	if (protocol != bpf_htons(0x0800) && protocol != bpf_htons(0x86dd)) /* if_ether.h */
		return false;
	at = peek(skb, head) + peek(skb, network_header);
	if (protocol == bpf_htons(0x0800))
		headers = peek_words(h.words, at, 3) ? drops_ipv4(&h.ip, &from, &to) : 0;
	else
		headers = peek_words(h.words, at, 5) ? drops_ipv6(&h.ip6, &from, &to) : 0;
	if (!headers || !peek_words(tcp.words, at + headers, 2))
		return false;
	data = peek(skb, data);
	length = data + peek(skb, len) - (at + headers + tcp.header.doff * 4);
	length += tcp.header.syn + tcp.header.fin;
	if (length <= 0)
		return false;
	d->id = drops_id(&from, &to, bpf_ntohs(tcp.header.source), bpf_ntohs(tcp.header.dest));
	d->seq = bpf_ntohl(tcp.header.seq);
	d->length = length;
	d->received = data > at;
	return true;
}
