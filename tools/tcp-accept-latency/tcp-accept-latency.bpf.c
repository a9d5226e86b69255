/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection in the queue of a listening socket: from the acknowledgement that establishes it, in
 * an interrupt, to the return of accept().  Of unix sockets: from the call of connect(), which puts
 * it there.
 */
#include "tcp-accept-latency.h"

#define PLUMB_KEY struct accept_key
#include <plumb/bpf/core/lifecycle.bpf.h>
#include <plumb/bpf/hist/hist.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/net/accept.bpf.h>
#include <plumb/bpf/net/ends.bpf.h>
#include <plumb/bpf/net/state-copies.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/syscall/descriptor.bpf.h>

/* include/net/tcp_states.h */
#define STATE_ESTABLISHED 1
#define STATE_SYN_RECV    3
#define STATE_LISTEN      10

PLUMB_MAP(accept_states, HASH, ACCEPT_STATES, __u64, struct accept_state);
PLUMB_MAP(accept_listeners, HASH, ACCEPT_LISTENERS, __u64, struct accept_listener);

static __always_inline struct accept_state *state_of(const struct sock *sk)
{
	__u64 id = (__u64)sk;
	struct accept_state *s = bpf_map_lookup_elem(&accept_states, &id);

	return s && s->start ? s : NULL;
}

/* A deletion can fail (6.1: the map is busy), so the state says itself that it is no longer one. */
static __always_inline void forget(const struct sock *sk, struct accept_state *s)
{
	__u64 id = (__u64)sk;

	s->start = 0;
	bpf_map_delete_elem(&accept_states, &id);
}

/* --- listening sockets --- */

static __always_inline void name_listener(struct accept_listener *l, const struct sock *sk)
{
	struct unix_address *address;
	__u32 length;

	if (l->family != SOCKET_UNIX) {
		ends_address(sk, &l->address, false);
		l->port = socket_local_port(sk);
		return;
	}
	address = BPF_CORE_READ((const struct unix_sock *)sk, addr);
	length = address ? BPF_CORE_READ(address, len) - 2 : 0; /* behind the family */
	if (!length)
		return;
	if (length > ACCEPT_PATH) /* the longest path, and a NUL */
		length = ACCEPT_PATH;
	bpf_probe_read_kernel(l->path, length,
			      (void *)address + bpf_core_field_offset(struct unix_address, name) +
				      2);
	l->path_length = length;
}

/*
 * Those that wait in the queue, and what was dropped since none had room in it.  Others can have
 * come since the one that was accepted left it, so with that it can be one more than there is room
 * for.
 */
static __always_inline void measure_listener(struct accept_listener *l, const struct sock *sk)
{
	__u32 waiting = l->family == SOCKET_UNIX ? BPF_CORE_READ(sk, sk_receive_queue.qlen)
						 : BPF_CORE_READ(sk, sk_ack_backlog);

	l->backlog = BPF_CORE_READ(sk, sk_max_ack_backlog);
	l->drops = BPF_CORE_READ(sk, sk_drops.counter);
	if (waiting <= l->backlog)
		waiting++;
	if (waiting > l->longest)
		l->longest = waiting;
}

/* The inode of the listening socket SK; 0: not known. */
static __noinline __u64 listener_of(const struct sock *sk)
{
	__u64 id = descriptor_socket_inode(sk);
	struct accept_listener *l, fresh = {};

	if (!id)
		return 0;
	l = bpf_map_lookup_elem(&accept_listeners, &id);
	if (l) {
		if (!l->port) /* it was not bound before listen() */
			name_listener(l, sk);
		measure_listener(l, sk);
		return id;
	}
	fresh.family = socket_family(sk);
	name_listener(&fresh, sk);
	measure_listener(&fresh, sk);
	fresh.drops_before = fresh.drops;
	return bpf_map_update_elem(&accept_listeners, &id, &fresh, BPF_ANY) ? 0 : id;
}

/* Of the system call that the current thread is in: its descriptor. */
static __always_inline long first_argument(void)
{
	return (int)PT_REGS_PARM1_CORE_SYSCALL(return_registers(current_task()));
}

/* --- beginnings --- */

/*
 * Who will accept it is not known yet.  So with filters, connections are in the ledger only once
 * they are recorded.
 */
static __always_inline void keep(const struct sock *sk, const struct accept_state *s, __u32 copy)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct accept_state *old = state_of(sk);
	__u64 id = (__u64)sk;

	if (filter_is_over() || (copy && old))
		return;
	if (old && !filter_rejects_threads())
		ledger_count(cpu, exit_lost);
	if (bpf_map_update_elem(&accept_states, &id, s, BPF_ANY)) {
		if (!copy)
			ledger_count(cpu, no_state);
		return;
	}
	if (!filter_rejects_threads())
		ledger_count(cpu, began);
}

/* A socket that listen() made has none of its own before it is accepted. */
PROGRAM_COPIES(state_changes, "raw_tp/inet_sock_set_state")
{
	const struct sock *sk = (const struct sock *)argument_at(ctx, 0);
	struct accept_state s = {};

	if (state_is_done((__u64)sk, argument_at(ctx, 1), argument_at(ctx, 2), copy))
		return 0;
	/* From then on its drops are known. */
	if (argument_at(ctx, 2) == STATE_LISTEN && socket_is_tcp(sk))
		listener_of(sk);
	if (argument_at(ctx, 1) != STATE_SYN_RECV || argument_at(ctx, 2) != STATE_ESTABLISHED ||
	    BPF_CORE_READ(sk, sk_socket) || !socket_is_tcp(sk))
		return 0;
	s.start = bpf_ktime_get_ns();
	s.family = socket_family(sk);
	s.lport = socket_local_port(sk);
	s.rport = socket_remote_port(sk);
	ends_address(sk, &s.laddr, false);
	ends_address(sk, &s.raddr, true);
	s.netns = ends_netns(sk);
	keep(sk, &s, copy);
	return 0;
}

static __always_inline bool is_unix_stream(const struct sock *sk)
{
	return sk && socket_family(sk) == SOCKET_UNIX &&
	       BPF_CORE_READ(sk, sk_type) != 2 /* SOCK_DGRAM */;
}

/* Of connect(), also where that waits for room in the queue. */
static __always_inline int connect_begins(long fd)
{
	struct accept_state s = {.family = SOCKET_UNIX};
	const struct sock *sk = accept_socket(fd);

	if (!is_unix_stream(sk))
		return 0;
	s.start = bpf_ktime_get_ns();
	keep(sk, &s, 0);
	return 0;
}

/* It is in the queue: the other end has the name of the listening socket, and its process. */
static __noinline int name_queued(const struct sock *sk, struct accept_state *s)
{
	const struct unix_sock *peer = (const void *)BPF_CORE_READ((struct unix_sock *)sk, peer);
	struct accept_listener l = {.family = SOCKET_UNIX};
	__u64 id = (__u64)BPF_CORE_READ(peer, addr);

	name_listener(&l, (const struct sock *)peer);
	if (!s || !id || bpf_map_update_elem(&accept_listeners, &id, &l, BPF_ANY))
		return 0;
	s->listener = id;
	s->pid = socket_peer_pid(sk);
	return 0;
}

/* Else it was refused, interrupted, or found no room in the queue. */
static __always_inline int connect_ends(long result)
{
	struct accept_state *s;
	const struct sock *sk;

	sk = accept_socket(first_argument());
	s = is_unix_stream(sk) ? state_of(sk) : NULL;
	if (!s)
		return 0;
	if (result >= 0)
		return name_queued(sk, s);
	forget(sk, s);
	if (!filter_rejects_threads())
		ledger_add(bpf_get_smp_processor_id(), began, -1);
	return 0;
}

/* --- ends --- */

static __noinline int record(const struct sock *sk, __u64 listener, __u64 ns)
{
	struct task_struct *task = current_task();
	struct accept_key key = {};
	__u32 cpu = bpf_get_smp_processor_id();

	if (socket_family(sk) != SOCKET_UNIX)
		ends_fill(&key.ends, sk, false);
	else if (plumb_config.by & TCP_BY_NETNS)
		key.ends.netns = ends_netns(sk);
	if (plumb_config.by & ACCEPT_BY_LISTENER)
		key.listener = listener;
	hist_record(key_cpu_slot(task, &key, cpu), cpu, ns, 0, false);
	return 0;
}

static __always_inline int accepted(long fd)
{
	const struct sock *sk = accept_socket(fd), *queued = sk, *listener;
	struct task_struct *task = current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now = bpf_ktime_get_ns(), start;
	struct accept_state *s;

	if (is_unix_stream(sk))
		queued = BPF_CORE_READ((const struct unix_sock *)sk, peer);
	else if (!sk || !socket_is_tcp(sk))
		return 0;
	s = state_of(queued);
	start = s ? s->start : 0;
	if (s)
		forget(queued, s);
	if (!filter_thread(task) || !filter_entry(task)) {
		if (s && !filter_rejects_threads())
			ledger_add(cpu, began, -1);
		return 0;
	}
	if (!s) {
		if (plumb_live)
			ledger_count(cpu, unmatched);
		return 0;
	}
	if (filter_rejects_threads())
		ledger_count(cpu, began);
	listener = accept_socket(first_argument());
	return record(sk, listener_of(listener), now > start ? now - start : 0);
}

/* No system call has accepted it: its listener is closed, or io_uring or the kernel accepted it. */
PROGRAM_COPIES(socket_ends, "raw_tp/tcp_destroy_sock")
{
	const struct sock *sk = (const struct sock *)argument_at(ctx, 0);
	struct accept_state *s = state_of(sk);

	if (!s)
		return 0;
	forget(sk, s);
	if (!filter_rejects_threads())
		ledger_count(bpf_get_smp_processor_id(), abandoned);
	return 0;
}

/* --- system calls --- */

SEC("tp/syscalls/sys_enter_connect")
int connect_enters(struct syscall_trace_enter *ctx)
{
	return connect_begins((int)ctx->args[0]);
}

SEC("tp/syscalls/sys_exit_connect")
int connect_leaves(struct syscall_trace_exit *ctx)
{
	return connect_ends(ctx->ret);
}

SEC("tp/syscalls/sys_exit_accept")
int accept_leaves(struct syscall_trace_exit *ctx)
{
	return accepted(ctx->ret);
}

SEC("tp/syscalls/sys_exit_accept4")
int accept4_leaves(struct syscall_trace_exit *ctx)
{
	return accepted(ctx->ret);
}

/* In place of these four: see accept.bpf.h. */
SEC("tp/raw_syscalls/sys_enter")
int call_enters(struct trace_event_raw_sys_enter *ctx)
{
	return ctx->id == accept_calls.connect ? connect_begins((int)ctx->args[0]) : 0;
}

SEC("tp/raw_syscalls/sys_exit")
int call_leaves(struct trace_event_raw_sys_exit *ctx)
{
	if (accept_is(ctx->id))
		return accepted(ctx->ret);
	return ctx->id == accept_calls.connect ? connect_ends(ctx->ret) : 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
