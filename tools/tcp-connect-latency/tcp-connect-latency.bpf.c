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

PLUMB_MAP(connect_states, HASH, CONNECT_STATES, __u64, struct connect_state);

/* 1: some were in SYN_SENT and then in SYN_RECV, in which those that are accepted begin. */
__u32 connect_crossed = 0; /* not static: clang would make a byte of it, and BTF says otherwise */

static __always_inline struct connect_state *state_of(const struct sock *sk)
{
	__u64 id = (__u64)sk;
	struct connect_state *s = bpf_map_lookup_elem(&connect_states, &id);

	return s && s->start ? s : NULL;
}

/* A deletion can fail (6.1: the map is busy), so the state says itself that it is no longer one. */
static __always_inline void forget(const struct sock *sk, struct connect_state *s)
{
	__u64 id = (__u64)sk;

	s->start = 0;
	bpf_map_delete_elem(&connect_states, &id);
}

/* Fills in whose connection it is; 0 if it is not TCP's, or the filters reject it. */
static __noinline int identify(struct connect_state *s, const struct sock *sk)
{
	struct task_struct *task = current_task();
	const struct sock_common *c;
	struct ends_head head;

	c = ends_head(&head, sk);
	if (!ends_head_is_ip(c) || BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return 0;
	/* Without a filter it is the tool's own, whose end does not lack its beginning. */
	s->rejected = !filter_thread(task) || !filter_entry(task);
	if (s->rejected && filter_rejects_threads())
		return 0;
	key_current(&s->who, task, bpf_get_smp_processor_id());
	key_trim(&s->who);
	s->pid = current_pid(task);
	s->tid = current_tid(task);
	ends_head_address(c, &s->raddr, true);
	s->rport = bpf_ntohs(c->skc_dport);
	return 1;
}

static __always_inline void begin(const struct sock *sk, __u32 copy)
{
	struct connect_state s = {.start = bpf_ktime_get_ns()}, *old;
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 id = (__u64)sk;

	if (!identify(&s, sk))
		return;
	if (bpf_map_update_elem(&connect_states, &id, &s, BPF_NOEXIST)) {
		old = state_of(sk);
		if (copy && old)
			return;
		if (old && !old->rejected)
			ledger_count(cpu, exit_lost);
		if (bpf_map_update_elem(&connect_states, &id, &s, BPF_ANY)) {
			if (!s.rejected && !copy)
				ledger_count(cpu, no_state);
			return;
		}
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

PROGRAM_COPIES(state_changes, "raw_tp/inet_sock_set_state")
{
	const struct sock *sk = (const struct sock *)argument_at(ctx, 0);
	const __u32 from = argument_at(ctx, 1), to = argument_at(ctx, 2);

	if (state_is_done((__u64)sk, from, to, copy))
		return 0;
	if (to == STATE_SYN_SENT) {
		begin(sk, copy);
	} else if (from == STATE_SYN_SENT) {
		if (to == STATE_SYN_RECV) /* both ends have connected to each other */
			connect_crossed = 1;
		else
			end(sk, to, copy);
	} else if (from == STATE_SYN_RECV && connect_crossed && state_of(sk)) {
		end(sk, to, copy);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
