/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* uses: in which system calls a thread is, and for which peers it waits. */
#pragma once

#include <plumb/bpf/core/socket.bpf.h>
#include <plumb/bpf/net/ends.bpf.h>
#include "thread.bpf.h"

PLUMB_MAP(request_peers, HASH, REQUEST_PEERS, __u64, struct request_peer);

/* --- system calls --- */

static __always_inline __u64 time_off(const struct request_thread *t)
{
	__u64 off = t->pending;
	int i;

	for (i = 0; i < REQUEST_KERNEL; i++)
		off += t->account[i];
	return off;
}

/* The current thread, whose account is up to date, is in CALL from NOW on. */
static __always_inline void call_begins(struct request_thread *t, __u64 call, __u64 now)
{
	t->call = call;
	t->since = now;
	t->off_since = time_off(t);
}

/* Until NOW it was in the call that it is in: add what of that it had a CPU. */
static __always_inline void call_lasts(struct request_thread *t, __u64 now)
{
	__u64 ns = now - t->since - (time_off(t) - t->off_since);

	/* Clocks of CPUs can differ a little. */
	if ((__s64)ns < 0)
		ns = 0;
	t->account[REQUEST_KERNEL] += ns;
	use_add(t, REQUEST_WHAT(REQUEST_KERNEL) | t->call, ns);
}

static __always_inline int call_enters(__u32 nr)
{
	struct task_struct *task = current_task();
	struct request_thread *t = thread_of(task);

	if (!t)
		return 0;
	thread_is_back(t);
	call_begins(t, (__u64)syscall_abi(task) << REQUEST_CALL_ABI_SHIFT | (nr + 1),
		    bpf_ktime_get_ns());
	return 0;
}

static __always_inline int call_leaves(void)
{
	struct request_thread *t = thread_of(current_task());

	if (!t || !t->call)
		return 0;
	thread_is_back(t);
	call_lasts(t, bpf_ktime_get_ns());
	t->call = 0;
	return 0;
}

SEC("raw_tp/sys_enter")
int raw_call_enters(__u64 *ctx)
{
	return call_enters(argument_at(ctx, 1));
}

SEC("raw_tp/sys_exit")
int raw_call_leaves(void *ctx __attribute__((unused)))
{
	return call_leaves();
}

SEC("tp/raw_syscalls/sys_enter")
int tp_call_enters(struct trace_event_raw_sys_enter *ctx)
{
	return call_enters(ctx->id);
}

SEC("tp/raw_syscalls/sys_exit")
int tp_call_leaves(void *ctx __attribute__((unused)))
{
	return call_leaves();
}

/* --- what it waits for on other sockets --- */

/* Nothing was answered. */
static __always_inline void nothing_pends(struct request_thread *t)
{
	__u32 i;

	if (!t->pending)
		return;
	t->account[REQUEST_BLOCKED] += t->pending;
	for (i = 0; i < PENDING_CALLS && i < t->n_pending; i++)
		use_add(t, t->pending_calls[i].what, t->pending_calls[i].ns);
	t->pending = t->n_pending = 0;
}

/* The current thread's account is brought up to NOW. */
static __noinline int thread_accounts(struct request_thread *t, __u64 now)
{
	if (!t) /* for the verifier */
		return 0;
	thread_is_back(t);
	nothing_pends(t);
	if (!request_config.calls)
		return 0;
	if (t->call)
		call_lasts(t, now);
	/* What it is in for the first time began before the thread was known. */
	call_begins(t, t->call ?: current_call(current_task()), now);
	return 0;
}

/* A process that has the other end of a unix socket, or listened there. */
static __always_inline void peer_process(const struct sock *sk, struct request_peer *peer)
{
	struct pid *pid = BPF_CORE_READ(sk, sk_peer_pid);
	struct hlist_node *first;
	struct task_struct *task;

	peer->pid = socket_peer_pid(sk);
	first = pid ? BPF_CORE_READ(pid, tasks[PIDTYPE_TGID].first) : NULL;
	if (!first)
		return;
	task = (void *)first - bpf_core_field_offset(struct task_struct, pid_links) -
	       PIDTYPE_TGID * bpf_core_type_size(struct hlist_node);
	BPF_CORE_READ_INTO(&peer->comm, task, comm);
	name_trim((__u64 *)peer->comm, PLUMB_COMM_LEN / 8);
}

/* The number of the other end of SK, whose address is kept by it. */
static __noinline __u64 peer_number(const struct sock *sk)
{
	struct request_peer peer = {};
	const __u64 *words = (const __u64 *)&peer;
	__u64 number = 0;
	__u32 i;

	if (!sk) /* for the verifier */
		return 0;
	peer.family = socket_family(sk);
	if (peer.family == SOCKET_UNIX) {
		peer_process(sk, &peer);
	} else if (peer.family == SOCKET_INET || peer.family == SOCKET_INET6) {
		ends_address(sk, &peer.address, true);
		peer.port = socket_remote_port(sk);
	}
	for (i = 0; i < sizeof(peer) / 8; i++) {
		number = (number ^ words[i]) * 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
		number ^= number >> 32;
	}
	number >>= 64 - REQUEST_WHAT_SHIFT;
	if (!bpf_map_lookup_elem(&request_peers, &number))
		bpf_map_update_elem(&request_peers, &number, &peer, BPF_ANY);
	return number;
}

static __always_inline void thread_asks(struct task_struct *task)
{
	struct request_thread *t = thread_of(task);

	if (!t)
		return;
	thread_is_back(t);
	nothing_pends(t);
	t->asked = request_config.slower ? bpf_ktime_get_ns() : 1;
}

/* The sleeps since it asked were for PEER. */
static __always_inline void spans_are_for(struct request_thread *t, __u64 peer)
{
	__u32 i;

	for (i = 0; i < REQUEST_SPANS; i++)
		if (t->spans[i].from >= t->asked &&
		    t->spans[i].what >> REQUEST_WHAT_SHIFT == REQUEST_BLOCKED)
			t->spans[i].what = peer;
}

static __always_inline void thread_is_answered(const struct sock *sk, struct task_struct *task)
{
	struct request_thread *t = thread_of(task);
	__u64 peer;

	if (!t || !t->asked)
		return;
	thread_is_back(t);
	if (!t->pending)
		return;
	peer = REQUEST_WHAT(REQUEST_DOWNSTREAM) | peer_number(sk);
	t->account[REQUEST_DOWNSTREAM] += t->pending;
	use_add(t, peer, t->pending);
	if (request_config.slower)
		spans_are_for(t, peer);
	t->pending = t->n_pending = 0;
}
