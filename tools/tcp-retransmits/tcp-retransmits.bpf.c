/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tcp-retransmits.h"

#define PLUMB_KEY struct resent_key
#include <plumb/bpf/core/copies.bpf.h>
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/net/owners.bpf.h>

#include "drops.bpf.h"

/* 1: connections have owners (owners.bpf.h). */
const volatile __u32 resent_owners = 0;

/* include/net/tcp.h, inet_connection_sock.h, tcp_states.h */
#define CA_RECOVERY     3
#define CA_LOSS         4
#define TIMER_PROBE     5 /* ICSK_TIME_LOSS_PROBE */
#define STATE_SYN_SENT  2
#define STATE_REQUESTED 12 /* TCP_NEW_SYN_RECV */

/* The argument of tcp_retransmit_skb from 6.17 on. */
struct trace_event_raw_tcp_retransmit_skb___err {
	int err;
} __attribute__((preserve_access_index));

/* 6.7; stamps of SYNs then are in us, not ms. */
struct tcp_sock___usec {
	__u8 tcp_usec_ts : 1;
} __attribute__((preserve_access_index));

/* What was sent again last of a socket, or of a request for one. */
struct resent_last {
	__u64 id; /* of the connection: another one can have the socket's address later */
	__u64 time;
	__u32 seq;
	__u32 total; /* segments that it had sent again by then */
};

PLUMB_MAP(resent_lasts, LRU_HASH, 16384, __u64, struct resent_last);

/* A retransmission. */
struct resent {
	const struct sock *sk; /* or the request */
	struct tcp_ends ends;
	bool request;
	bool failed; /* without an attempt to send it */
	__u64 id, now;
	__u64 first; /* of a request, ns: when it was first answered; 0: not known */
	__u64 rtt;   /* ns; 0: not known */
	__u64 began; /* ns: what was dropped later is this one itself, on its way out */
	__u32 seq, length;
	__u32 segments; /* in it */
	__u32 total;    /* that the connection has sent again, or tried to */
	__u32 state, kind;
};

/* Fills in the ends of R and its id. */
static __always_inline void resent_identify(struct resent *r, const struct sock_common *c)
{
	ends_peek_address(c, r->sk, &r->ends.raddr, true);
	ends_peek_address(c, r->sk, &r->ends.laddr, false);
	r->ends.rport = bpf_ntohs(c->skc_dport);
	r->ends.lport = c->skc_num;
	r->id = drops_id(&r->ends.laddr, &r->ends.raddr, r->ends.lport, r->ends.rport);
}

/* --- copies --- */

#define RESENT_MARK_BITS 14

/* Which copy of a program was run last for a socket, by its address: its lock is held meanwhile. */
static __u64 resent_marks[1 << RESENT_MARK_BITS] = {};

/* Whether an earlier copy was run for this retransmission of SK. */
static __always_inline bool resent_is_done(__u64 sk, __u32 copy)
{
	__u64 at = sk * 0x9e3779b97f4a7c15ULL >> (64 - RESENT_MARK_BITS); /* Knuth, vol. 3, 6.4 */
	__u64 *mark, before;

	barrier_var(at); /* keeps the mask last, which the verifier of 5.10 needs */
	mark = &resent_marks[at & ((1 << RESENT_MARK_BITS) - 1)];
	before = *mark - (sk << 8);
	*mark = sk << 8 | copy;
	return before < copy;
}

/*
 * Sets how many segments were counted since the last retransmission of the same connection: also
 * those that failed on the way down, of which older kernels do not tell.  Returns when the same
 * data were sent again last, 0 if it is not known; or ~0 if there is nothing new: another copy of
 * the program was first, or nothing was sent.
 */
static __noinline __u64 resent_since_last(struct resent *r)
{
	__u64 at = (__u64)r->sk, since = 0;
	struct resent_last *last = bpf_map_lookup_elem(&resent_lasts, &at),
			   next = {
				   .id = r->id,
				   .time = r->now,
				   .seq = r->seq,
				   .total = r->total,
			   };
	bool known = last && last->id == r->id && (__s32)(r->total - last->total) >= 0;

	if (known && last->total == r->total) {
		if (last->seq == r->seq || r->failed)
			return ~0ULL;
		known = false; /* another connection of the same addresses and ports */
	}
	if (known && last->seq == r->seq)
		since = last->time;
	if (known)
		r->segments = r->total - last->total;
	if (last && !r->request) /* cheaper than an update; under the socket's lock */
		*last = next;
	else
		bpf_map_update_elem(&resent_lasts, &at, &next, BPF_ANY);
	return known || !r->failed ? since : ~0ULL;
}

static __always_inline void resent_key_fill(struct resent_key *key, const struct resent *r)
{
	const bool accepted =
		plumb_config.by & TCP_BY_PORT && (r->request || peek(r->sk, sk_max_ack_backlog));

	ends_select(&key->ends, &r->ends, r->sk, accepted, r->request);
	if (plumb_config.by & RESENT_BY_STATE)
		key->state = r->state;
	if (plumb_config.by & RESENT_BY_KIND)
		key->kind = r->kind;
}

static __always_inline void resent_add(__u32 slot, const struct resent *r, __u64 since)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;

	totals = hist_record(slot, cpu, since && since < r->now ? r->now - since : 0, 0, false);
	if (!totals)
		return;
	plumb_add(totals->counters[0], r->segments);
	if (!r->rtt)
		return;
	plumb_add(totals->counters[1], r->rtt);
	plumb_add(totals->counters[2], 1);
}

/*
 * The packet itself has the time of the retransmission already.  The kernel keeps when the first of
 * the packets on the way was sent or, as they arrive, the latest of which it knows that.
 */
static __always_inline __u64 resent_first(const struct resent *r)
{
	const struct tcp_sock___usec *usec = (const void *)r->sk;
	const struct tcp_sock *tp = (const struct tcp_sock *)r->sk;
	__u32 unit = 1000000, stamp;

	if (r->request)
		return r->first;
	if (r->state != STATE_SYN_SENT)
		return peek(tp, first_tx_mstamp) * 1000;
	if (bpf_core_field_exists(usec->tcp_usec_ts) && peek_bits(usec, tcp_usec_ts))
		unit = 1000;
	stamp = peek(tp, retrans_stamp);
	return r->now - (__u64)((__u32)(r->now / unit) - stamp) * unit;
}

/* OWNER: the socket whose thread it is. */
static __always_inline int resent_record(struct resent *r, const struct sock *owner, __u32 copy)
{
	struct resent_key key = {};
	struct resent_drop *drop;
	__u64 since;
	__u32 slot;

	since = resent_since_last(r);
	if (since == ~0ULL)
		return 0;
	if (copy)
		ledger_count(bpf_get_smp_processor_id(), rescued);
	if (filter_is_over() || (resent_owners && !owners_find(owner, &key.who)))
		return 0;
	drop = drops_join(r->id, r->seq, r->length, r->began);
	since = drop ? drop->time : since ?: resent_first(r);
	if (drop && plumb_config.by & RESENT_BY_DROP)
		key.drop = drop->why;
	resent_key_fill(&key, r);
	key_find(&key, &slot);
	resent_add(slot, r, since);
	return 0;
}

static __always_inline __u32 resent_kind(const struct inet_connection_sock *sk, __u32 state)
{
	__u32 ca = peek_bits(sk, icsk_ca_state), timer = peek(sk, icsk_pending);

	if (state == STATE_SYN_SENT)
		return RESENT_SYN;
	/* The timer that has expired; the other one is not set any more then. */
	if (timer == TIMER_PROBE && ca < CA_RECOVERY)
		return RESENT_PROBE;
	if (ca == CA_LOSS)
		return timer ? RESENT_AFTER_TIMEOUT : RESENT_TIMEOUT;
	return ca == CA_RECOVERY ? RESENT_FAST : RESENT_OTHER;
}

PROGRAM_COPIES(segment_resent, "raw_tp/tcp_retransmit_skb")
{
	const struct sock *sk = (const struct sock *)argument_at(ctx, 0);
	const struct sk_buff *skb = (const struct sk_buff *)argument_at(ctx, 1);
	const struct tcp_sock *tp = (const struct tcp_sock *)sk;
	const struct tcp_skb_cb *cb = (const void *)skb + bpf_core_field_offset(skb->cb);
	const struct sock_common *c;
	struct ends_start start;
	struct resent r;

	if (resent_is_done((__u64)sk, copy))
		return 0;
	__builtin_memset(&r, 0, sizeof(r));
	r.sk = sk;
	r.now = bpf_ktime_get_ns();
	c = ends_peek(&start, sk);
	resent_identify(&r, c);
	r.total = peek(tp, total_retrans);
	r.segments = peek(cb, tcp_gso_segs);
	r.seq = peek(cb, seq);
	r.length = peek(cb, end_seq) - r.seq;
	r.state = c->skc_state;
	r.kind = resent_kind((const struct inet_connection_sock *)sk, r.state);
	r.rtt = (__u64)(peek(tp, srtt_us) >> 3) * 1000;
	r.began = peek(tp, tcp_clock_cache); /* since it was decided to send it */
	if (bpf_core_field_exists(struct trace_event_raw_tcp_retransmit_skb___err, err))
		r.failed = (__s32)argument_at(ctx, 2) < 0;
	return resent_record(&r, sk, copy);
}

/* A request's address, and its listening socket's. */
PROGRAM_COPIES(synack_resent, "raw_tp/tcp_retransmit_synack")
{
	const struct sock *sk = (const struct sock *)argument_at(ctx, 0);
	const struct request_sock *request = (const void *)argument_at(ctx, 1);
	const struct tcp_request_sock *tcp = (const void *)request;
	struct ends_start start;
	struct resent r = {
		.sk = (const struct sock *)request,
		.request = true,
		.now = bpf_ktime_get_ns(),
		.first = BPF_CORE_READ(tcp, snt_synack) * 1000,
		.seq = BPF_CORE_READ(tcp, snt_isn),
		.length = 1,
		.segments = 1,
		.total = BPF_CORE_READ(request, num_retrans),
		.state = STATE_REQUESTED,
		.kind = RESENT_SYNACK,
	};

	r.began = r.now; /* the kernel does not tell of one that was dropped on its way out */
	resent_identify(&r, ends_peek(&start, r.sk));
	return resent_record(&r, sk, copy);
}

SEC("raw_tp/kfree_skb")
int segment_dropped(struct bpf_raw_tracepoint_args *ctx)
{
	struct resent_drop d = {.why = ctx->args[1]};
	__u32 reason = 0;
	__u8 verdict;

	/* The argument came with the type (5.17). */
	if (bpf_core_type_exists(enum skb_drop_reason) &&
	    (__u32)ctx->args[2] >
		    bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_NOT_SPECIFIED))
		d.why = reason = (__u32)ctx->args[2];
	verdict = drops_verdict(reason);
	if (verdict == RESENT_COPY || !drops_read((const struct sk_buff *)ctx->args[0], &d))
		return 0;
	if (verdict == RESENT_AMBIGUOUS && d.received && drops_is_copy(d.id, d.seq))
		return 0;
	d.time = bpf_ktime_get_ns();
	drops_add(&d);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
