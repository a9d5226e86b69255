/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection that a thread makes: from SYN_SENT, which connect() sets before it sends the SYN, to
 * ESTABLISHED or CLOSE.  An interrupt brings the end, so it is found by the socket's address.
 */
#include "tcp-connect-latency.h"

#define PLUMB_KEY struct connect_key
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/net/ends.bpf.h>
#include <plumb/bpf/net/state-copies.bpf.h>

/* include/net/tcp_states.h, include/linux/net.h */
#define STATE_ESTABLISHED  1
#define STATE_SYN_SENT     2
#define STATE_SYN_RECV     3
#define STATE_CLOSE        7
#define SOCKET_UNCONNECTED 1 /* SS_UNCONNECTED */

PLUMB_MAP(connect_states, HASH, CONNECT_STATES + CONNECT_KEPT, __u64, struct connect_state);

/* How many of them have ended, and are kept for the next connection of the socket's address. */
__s32 connect_kept = 0;

/* 1: some were in SYN_SENT and then in SYN_RECV, in which those that are accepted begin. */
__u32 connect_crossed = 0; /* not static: clang would make a byte of it, and BTF says otherwise */

static __always_inline struct connect_state *state_of(const struct sock *sk)
{
	__u64 id = (__u64)sk;
	struct connect_state *s = bpf_map_lookup_elem(&connect_states, &id);

	return s && s->start ? s : NULL;
}

/* A deletion can fail, too (6.1: the map is busy). */
static __always_inline void forget(const struct sock *sk, struct connect_state *s)
{
	__u64 id = (__u64)sk;

	s->start = 0;
	if (connect_kept < CONNECT_KEPT || bpf_map_delete_elem(&connect_states, &id))
		atomic_add(&connect_kept, 1);
}

/* Fills in whose connection it is; false if it is not TCP's, or the filters reject it. */
static __always_inline bool identify(struct connect_state *s, const struct sock *sk)
{
	struct task_struct *task = current_task();
	const struct sock_common *c;
	struct ends_start start;

	c = ends_peek(&start, sk);
	if (!ends_head_is_ip(c) || peek(sk, sk_protocol) != IPPROTO_TCP)
		return false;
	/* Without a filter it is the tool's own, whose end does not lack its beginning. */
	s->rejected = !filter_thread(task) || !filter_entry(task);
	if (s->rejected && filter_rejects_threads())
		return false;
	key_current(&s->who, task, bpf_get_smp_processor_id());
	key_trim(&s->who);
	s->pid = current_pid(task);
	s->tid = current_tid(task);
	ends_peek_address(c, sk, &s->raddr, true);
	s->rport = bpf_ntohs(c->skc_dport);
	return true;
}

static __always_inline void begin(const struct sock *sk, __u32 copy)
{
	struct connect_state s = {.start = bpf_ktime_get_ns()}, *old;
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 id = (__u64)sk;

	if (!identify(&s, sk))
		return;
	old = bpf_map_lookup_elem(&connect_states, &id);
	if (!old) {
		if (bpf_map_update_elem(&connect_states, &id, &s, BPF_ANY)) {
			if (!s.rejected && !copy)
				ledger_count(cpu, no_state);
			return;
		}
	} else {
		if (copy && old->start)
			return;
		if (!old->start)
			atomic_add(&connect_kept, -1);
		else if (!old->rejected)
			ledger_count(cpu, exit_lost);
		*old = s;
	}
	if (!s.rejected)
		ledger_count(cpu, began);
}

static __always_inline __u32 result_of(const struct sock *sk, __u32 state)
{
	__s32 error;

	if (state == STATE_ESTABLISHED)
		return 0;
	error = BPF_CORE_READ(sk, sk_err);
	if (error > 0)
		return error;
	/* Until connect() has sent the SYN.  What gives up can have changed it since: shutdown().
	 */
	return BPF_CORE_READ(sk, sk_socket, state) == SOCKET_UNCONNECTED ? CONNECT_FAILED
									 : CONNECT_CLOSED;
}

/* The peer is known from the beginning. */
#define ENDS_OF_SOCKET (TCP_BY_LADDR | TCP_BY_LPORT | TCP_BY_NETNS | TCP_BY_PORT)

static __noinline int record(const struct sock *sk, const struct connect_state *s, __u32 result,
			     __u64 ns)
{
	struct connect_key key = {.who = s->who};
	__u32 cpu = bpf_get_smp_processor_id(), slot;

	if (plumb_config.by & ENDS_OF_SOCKET) {
		ends_fill(&key.ends, sk, false);
	} else {
		if (plumb_config.by & TCP_BY_RADDR)
			key.ends.raddr = s->raddr;
		if (plumb_config.by & TCP_BY_RPORT)
			key.ends.rport = s->rport;
	}
	if (plumb_config.by & CONNECT_BY_RESULT)
		key.result = result;
	key_find(&key, &slot);
	hist_record(slot, cpu, ns, result, false);
	return 0;
}

static __always_inline void end(const struct sock *sk, __u32 state, __u32 copy)
{
	struct connect_state *s = state_of(sk);
	__u64 now;

	if (!s) {
		/* With filters, others' connections are not known either. */
		if (!copy && plumb_live && !filter_rejects_threads() && socket_is_tcp(sk))
			ledger_count(bpf_get_smp_processor_id(), unmatched);
		return;
	}
	now = bpf_ktime_get_ns();
	if (!s->rejected)
		record(sk, s, result_of(sk, state), now > s->start ? now - s->start : 0);
	forget(sk, s);
}

/* Not inlined: of ten changes of a connection, seven save no registers for it. */
static __noinline int state_changed(const struct sock *sk, __u32 from, __u32 to, __u32 copy)
{
	if (state_is_done((__u64)sk, from, to, copy))
		return 0;
	if (to == STATE_SYN_SENT)
		begin(sk, copy);
	else if (from == STATE_SYN_SENT && to == STATE_SYN_RECV)
		connect_crossed = 1; /* both ends have connected to each other */
	else if (from == STATE_SYN_SENT || state_of(sk))
		end(sk, to, copy);
	return 0;
}

PROGRAM_COPIES(state_changes, "raw_tp/inet_sock_set_state")
{
	const __u32 from = argument_at(ctx, 1), to = argument_at(ctx, 2);

	if (to == STATE_SYN_SENT || from == STATE_SYN_SENT ||
	    (from == STATE_SYN_RECV && connect_crossed))
		state_changed((const struct sock *)argument_at(ctx, 0), from, to, copy);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
