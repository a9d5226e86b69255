/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request is from the first data that arrive at a server's socket after its last reply, to the
 * last bytes that it sends before data arrive again.  It is recorded when these arrive, or when
 * nothing more can.
 */
#define PLUMB_KEY struct request_key
#include "request-latency.h"
#include "exchange.bpf.h"

#define MSG_PEEK 2

/* --- data arrive --- */

/* ALL_TAKEN: what had arrived before was read, up to the byte FROM of TCP. */
static __always_inline void data_arrive(const struct sock *sk, struct request_socket *s,
					bool all_taken, __u32 from)
{
	__u32 written = socket_written(sk, s);
	__u64 now = bpf_ktime_get_ns(), second = s->second;

	s->drained = 0;
	if (!s->first) {
		open_request(s, now, from);
		return;
	}
	if (!all_taken) {
		/* A part of what is open was not read when the reply was sent. */
		if (s->read && !second && written != s->unsent)
			s->mixed = 1;
		return;
	}
	if (s->read && written != s->unsent) {
		close_request(sk, s, written, now);
		open_request(s, second ?: now, second ? s->second_from : from);
		if (!second)
			return;
	}
	if (!s->second) {
		s->second_from = from;
		s->second = now;
	}
}

static __always_inline void tcp_data_arrive(const struct sock *sk)
{
	struct request_socket *s = socket_get(sk);
	__u32 from, to;

	if (!s) {
		if (!socket_is_tcp(sk) || socket_phase(sk) == STATE_LISTEN || !ends_accepted(sk))
			return;
		s = socket_follow(sk, false);
		if (!s)
			return;
	}
	from = s->arrived;
	to = socket_arrived(sk);
	if (from == to || s->over) /* a FIN */
		return;
	s->arrived = to;
	data_arrive(sk, s, socket_taken(sk) == from, from);
}

/* The last one in the queue of LISTENER: the other end can have it only from now on. */
static __always_inline void unix_connects(const struct sock *listener)
{
	const struct sk_buff *last = BPF_CORE_READ(listener, sk_receive_queue.prev);
	const struct sock *sk;
	struct request_socket *s;

	if ((__u64)last == (__u64)listener + bpf_core_field_offset(listener->sk_receive_queue))
		return;
	sk = BPF_CORE_READ(last, sk);
	if (!sk || !socket_address(sk))
		return;
	s = socket_get(sk);
	if (s) { /* of another socket, which had its address */
		close_request(sk, s, s->sends, s->sent);
		s->gone = 1;
	}
	socket_follow(sk, true);
}

static __noinline int send_noted(struct request_socket *s, __u32 written);
static __noinline int read_unseen(const struct sock *sk, struct request_socket *s);

static __always_inline void unix_data_arrive(const struct sock *sk)
{
	struct request_socket *s;
	const struct sock *peer;
	__u32 waiting;

	if (!socket_is_unix_stream(sk))
		return;
	if (socket_phase(sk) == STATE_LISTEN) {
		unix_connects(sk);
		return;
	}
	s = socket_get(sk);
	if (!s && socket_is_accepted_unix(sk))
		s = socket_follow(sk, false);
	if (s) {
		waiting = BPF_CORE_READ(sk, sk_receive_queue.qlen);
		if (waiting) /* else it was read already */
			data_arrive(sk, s, waiting == 1, 0);
		return;
	}
	peer = socket_peer(sk);
	s = peer ? socket_get(peer) : NULL;
	if (!s)
		return;
	s->sends++;
	if (s->first && !s->read)
		read_unseen(peer, s);
	else
		send_noted(s, s->sends);
}

static __always_inline int data_ready(const struct sock *sk)
{
	if (filter_is_over())
		return 0;
	if (socket_family(sk) == SOCKET_UNIX)
		unix_data_arrive(sk);
	else
		tcp_data_arrive(sk);
	return 0;
}

/* --- data are read --- */

/* The other end of a unix connection has closed it, or this one has and the other saw it. */
static __always_inline void unix_ends(const struct sock *sk)
{
	struct request_socket *s = socket_get(sk);

	if (!s || (s->read && !s->sent))
		return;
	close_request(sk, s, s->sends, s->sent);
	/* The map can be busy, and keep it: then it says itself that it is gone. */
	s->gone = 1;
	socket_delete(sk);
}

static __always_inline int data_taken(const struct sock *sk, int result, __u32 flags)
{
	struct task_struct *task = current_task();
	struct request_socket *s;
	const struct sock *peer;

	if (result < 0 || flags & MSG_PEEK)
		return 0;
	if (!result) {
		if (!socket_is_unix_stream(sk))
			return 0;
		unix_ends(sk);
		peer = socket_peer(sk);
		if (peer)
			unix_ends(peer);
		return 0;
	}
	s = socket_get(sk);
	if (s)
		data_read(sk, s, task, flags);
	else
		thread_is_answered(sk, task);
	return 0;
}

/* --- a reply is sent --- */

static __noinline int send_noted(struct request_socket *s, __u32 written)
{
	struct task_struct *task = current_task();
	struct request_thread *t;
	__u64 now;

	if (!s || !s->read || s->rejected)
		return 0;
	now = bpf_ktime_get_ns();
	t = s->reader == (__u64)task ? inflight_get(task) : NULL;
	if (t) {
		thread_accounts(t, now);
		account_ends(s, t, now);
	}
	s->sender = t ? s->reader : 0;
	s->is_sent = written;
	s->sent = now;
	return 0;
}

/*
 * Something is sent, and no read of what had arrived was seen.  If it was read all the same, that
 * was not by what shows it: by splice(), for example.
 */
static __noinline int read_unseen(const struct sock *sk, struct request_socket *s)
{
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();

	if (!s || s->over || !(s->path ? socket_is_drained(sk, s) : socket_took(sk, s->from)))
		return 0;
	s->first = s->second;
	s->from = s->second_from;
	s->second = 0;
	if (!filter_thread(task) || !filter_entry(task))
		return 0;
	if (s->known) {
		ledger_count(cpu, began);
		ledger_count(cpu, unpaired);
	} else {
		ledger_count(cpu, unmatched);
	}
	s->known = 1;
	return 0;
}

static __always_inline int data_sent(const struct sock *sk, int result)
{
	struct request_socket *s;
	__u32 written;

	if (result <= 0)
		return 0;
	/* Of TCP raw_data_given() knows more. */
	if (request_config.early && socket_family(sk) != SOCKET_UNIX && socket_is_tcp(sk))
		return 0;
	s = socket_get(sk);
	if (!s) {
		thread_asks(current_task());
		return 0;
	}
	if (s->path)
		return 0;
	if (s->first && !s->read)
		read_unseen(sk, s);
	written = socket_written(sk, s);
	/* Else it sent an earlier reply: the next request has arrived meanwhile. */
	return written != s->unsent ? send_noted(s, written) : 0;
}

/* --- connections --- */

static __always_inline int state_changes(const struct sock *sk, __u32 from, __u32 to)
{
	struct request_socket *s;

	if (from == STATE_SYN_RECV && to == STATE_ESTABLISHED) {
		if (socket_is_tcp(sk))
			socket_follow(sk, true);
		return 0;
	}
	/* In these states nothing more is sent. */
	if (to != STATE_FIN_WAIT1 && to != STATE_LAST_ACK && to != STATE_CLOSE)
		return 0;
	s = socket_get(sk);
	if (s) {
		close_request(sk, s, socket_written(sk, s), bpf_ktime_get_ns());
		s->over = 1; /* the request itself another CPU may still record */
	}
	if (to == STATE_CLOSE)
		socket_delete(sk);
	return 0;
}

/* --- the programs --- */

SEC("raw_tp/sk_data_ready")
int raw_data_ready(__u64 *ctx)
{
	return data_ready((const struct sock *)argument_at(ctx, 0));
}

SEC("raw_tp/sock_recv_length")
int raw_data_taken(__u64 *ctx)
{
	return data_taken((const struct sock *)argument_at(ctx, 0), (int)argument_at(ctx, 1),
			  (__u32)argument_at(ctx, 2));
}

SEC("raw_tp/sock_send_length")
int raw_data_sent(__u64 *ctx)
{
	return data_sent((const struct sock *)argument_at(ctx, 0), (int)argument_at(ctx, 1));
}

/* For each piece of a message, before TCP takes it. */
SEC("raw_tp/tcp_sendmsg_locked")
int raw_data_given(__u64 *ctx)
{
	const struct sock *sk = (const struct sock *)argument_at(ctx, 0);
	struct request_socket *s = socket_get(sk);

	if (!s)
		thread_asks(current_task());
	else if (s->first && !s->read)
		read_unseen(sk, s);
	else
		send_noted(s, 0);
	return 0;
}

SEC("raw_tp/inet_sock_set_state")
int raw_state_changes(__u64 *ctx)
{
	return state_changes((const struct sock *)argument_at(ctx, 0), argument_at(ctx, 1),
			     argument_at(ctx, 2));
}

/* From 7.0 on programs of raw tracepoints can be preempted, and are skipped meanwhile. */
SEC("tp/sock/sk_data_ready")
int tp_data_ready(struct trace_event_raw_sk_data_ready *ctx)
{
	return data_ready(ctx->skaddr);
}

SEC("tp/sock/sock_recv_length")
int tp_data_taken(struct trace_event_raw_sock_msg_length *ctx)
{
	return data_taken(ctx->sk, ctx->ret, ctx->flags);
}

SEC("tp/sock/sock_send_length")
int tp_data_sent(struct trace_event_raw_sock_msg_length *ctx)
{
	return data_sent(ctx->sk, ctx->ret);
}

SEC("tp/sock/inet_sock_set_state")
int tp_state_changes(struct trace_event_raw_inet_sock_set_state *ctx)
{
	return state_changes(ctx->skaddr, ctx->oldstate, ctx->newstate);
}

#include "functions.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
