/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * socket: connections that a server accepted, and what the kernel itself says of them.
 *
 * Data can arrive while the program that would note a read or a reply still waits for its CPU.  So
 * what came before what is decided by TCP's own numbers of bytes, where data arrive: these change
 * only under the socket's lock.  Unix sockets have no such numbers: there the length of the queue
 * says what was read, and data that arrive at the other end what was sent.
 */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include <plumb/bpf/core/ledger.bpf.h>
#include <plumb/bpf/net/ends.bpf.h>
#include "request-latency.h"

/* include/net/tcp_states.h, include/linux/net.h, include/net/sock.h */
#define STATE_ESTABLISHED 1
#define STATE_SYN_RECV    3
#define STATE_FIN_WAIT1   4
#define STATE_CLOSE       7
#define STATE_LAST_ACK    9
#define STATE_LISTEN      10
#define KIND_STREAM       1
#define KIND_SEQPACKET    5
#define RCV_SHUTDOWN      1

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUEST_SOCKETS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct request_socket);
} request_sockets SEC(".maps");

PLUMB_MAP(request_paths, HASH, REQUEST_PATHS, __u64, struct request_path);

/*
 * How many of these sockets have an address of that hash, or had: of the other sockets of the
 * machine most need not be looked up.
 */
#define SOCKET_HASH_BITS 14
static __u32 socket_hashes[1 << SOCKET_HASH_BITS] = {};

/* Sockets are at least 64 bytes apart; the golden ratio spreads them (Knuth, vol. 3, 6.4). */
static __always_inline __u32 *socket_hash(const struct sock *sk)
{
	__u64 hash = ((__u64)sk >> 6) * 0x9e3779b97f4a7c15ULL >> (64 - SOCKET_HASH_BITS);

	barrier_var(hash); /* the mask is for the verifier */
	return &socket_hashes[hash & ((1 << SOCKET_HASH_BITS) - 1)];
}

static __always_inline __u32 socket_phase(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_state);
}

static __always_inline bool socket_is_unix_stream(const struct sock *sk)
{
	__u32 kind = BPF_CORE_READ(sk, sk_type);

	return socket_family(sk) == SOCKET_UNIX && (kind == KIND_STREAM || kind == KIND_SEQPACKET);
}

static __always_inline const struct sock *socket_peer(const struct sock *sk)
{
	return BPF_CORE_READ((const struct unix_sock *)sk, peer);
}

/* A unix socket that was accepted shares the name of the one that listened. */
static __always_inline __u64 socket_address(const struct sock *sk)
{
	return (__u64)BPF_CORE_READ((const struct unix_sock *)sk, addr);
}

/* The connection of SK; NULL: none is known.  Of a unix socket that is gone, it can be another's.
 */
static __always_inline struct request_socket *socket_get(const struct sock *sk)
{
	struct request_socket *s;
	__u64 id = (__u64)sk;

	if (!*socket_hash(sk))
		return NULL;
	s = bpf_map_lookup_elem(&request_sockets, &id);
	if (!s || s->gone)
		return NULL;
	return !s->address || s->address == socket_address(sk) ? s : NULL;
}

static __always_inline void socket_delete(const struct sock *sk)
{
	__u64 id = (__u64)sk;

	if (*socket_hash(sk) && !bpf_map_delete_elem(&request_sockets, &id))
		atomic_add(socket_hash(sk), -1);
}

/* The number of the byte after the last one that has arrived: a FIN has a number, too. */
static __always_inline __u32 socket_arrived(const struct sock *sk)
{
	__u32 shutdown = BPF_CORE_READ(sk, sk_shutdown);

	return BPF_CORE_READ((const struct tcp_sock *)sk, rcv_nxt) - !!(shutdown & RCV_SHUTDOWN);
}

static __always_inline __u32 socket_taken(const struct sock *sk)
{
	return BPF_CORE_READ((const struct tcp_sock *)sk, copied_seq);
}

/* What was sent so far: two of these differ if something was sent in between. */
static __always_inline __u32 socket_written(const struct sock *sk, const struct request_socket *s)
{
	return s->path ? s->sends : BPF_CORE_READ((const struct tcp_sock *)sk, write_seq);
}

static __always_inline bool socket_is_drained(const struct sock *sk, const struct request_socket *s)
{
	if (s->path)
		return !BPF_CORE_READ(sk, sk_receive_queue.qlen);
	return socket_taken(sk) == s->arrived;
}

/* Of TCP: whether the byte FROM was read. */
static __always_inline bool socket_took(const struct sock *sk, __u32 from)
{
	return (__s32)(socket_taken(sk) - from) > 0;
}

/* Whether data were read that arrived at S->second. */
static __always_inline bool socket_took_second(const struct sock *sk,
					       const struct request_socket *s)
{
	if (s->path)
		return !BPF_CORE_READ(sk, sk_receive_queue.qlen);
	return socket_took(sk, s->second_from);
}

/* Keep the name at ADDRESS, by its hash, which is the result. */
static __noinline __u64 socket_keep_path(const struct unix_address *address)
{
	struct request_path path = {};
	__u32 length = BPF_CORE_READ(address, len) - 2, i; /* behind the family */
	__u64 hash;

	if (length > REQUEST_PATH)
		length = REQUEST_PATH;
	bpf_probe_read_kernel(path.path, length,
			      (void *)address + bpf_core_field_offset(struct unix_address, name) +
				      2);
	path.length = length;
	hash = length;
	for (i = 0; i < REQUEST_PATH / 4; i++) {
		hash = (hash ^ path.words[i]) * 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
		hash ^= hash >> 32;
	}
	hash |= 1; /* not 0 */
	if (!bpf_map_lookup_elem(&request_paths, &hash))
		bpf_map_update_elem(&request_paths, &hash, &path, BPF_ANY);
	return hash;
}

/* KNOWN: it is new.  NULL: there is no room. */
static __noinline struct request_socket *socket_follow(const struct sock *sk, bool known)
{
	static const struct request_socket fresh;
	struct request_socket *s;
	__u64 id = (__u64)sk;
	long err;

	/* Of one that replaces another, it stays larger. */
	atomic_add(socket_hash(sk), 1);
	err = bpf_map_update_elem(&request_sockets, &id, &fresh, BPF_ANY);
	if (err)
		atomic_add(socket_hash(sk), -1);
	s = err ? NULL : bpf_map_lookup_elem(&request_sockets, &id);
	if (!s) {
		ledger_count(bpf_get_smp_processor_id(), no_state);
		return NULL;
	}
	s->known = known;
	if (socket_family(sk) == SOCKET_UNIX) {
		s->address = socket_address(sk);
		s->path = socket_keep_path((const struct unix_address *)s->address);
	} else {
		s->arrived = known ? socket_arrived(sk) : socket_taken(sk);
		s->port = ends_port(sk, false);
		ends_address(sk, &s->raddr, true);
	}
	return s;
}

/*
 * Whether the unix socket SK, from before the trace, was accepted: others have its name, too, or
 * the other end has none.
 */
static __always_inline bool socket_is_accepted_unix(const struct sock *sk)
{
	const struct unix_address *path = (const struct unix_address *)socket_address(sk);
	const struct sock *peer;

	if (!path)
		return false;
	peer = socket_peer(sk);
	return BPF_CORE_READ(path, refcnt.refs.counter) > 1 || (peer && !socket_address(peer));
}
