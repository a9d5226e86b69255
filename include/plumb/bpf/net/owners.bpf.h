/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * owners: the thread that made a connection, by connect() or accept(), for events of the connection
 * in timers and interrupts.  Of connections from before the trace, and those that io_uring makes,
 * none is known.  Loaded if rows are grouped, or filtered, by thread.
 */
#pragma once

#include <plumb/bpf/core/copies.bpf.h>
#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/key/key-cpu.bpf.h>
#include <plumb/bpf/net/accept.bpf.h>
#include <plumb/bpf/net/ends.bpf.h>

/* include/net/tcp_states.h */
#define OWNERS_SYN_SENT 2
#define OWNERS_LISTEN   10

struct tcp_owner {
	struct plumb_who who;
	__u32 selected; /* by the filters */
	__u32 rport;    /* of the connection: another one can have the socket's address later */
};

PLUMB_MAP(tcp_owners, LRU_HASH, 65536, __u64, struct tcp_owner);

static __noinline int owners_keep(const struct sock *sk)
{
	struct task_struct *task = current_task();
	struct tcp_owner owner = {.rport = socket_remote_port(sk)};
	__u64 id = (__u64)sk;

	key_current(&owner.who, task, 0);
	key_trim(&owner.who);
	owner.selected = filter_thread(task) && filter_entry(task);
	bpf_map_update_elem(&tcp_owners, &id, &owner, BPF_ANY);
	return 0;
}

/* Those that listen own what was not accepted yet. */
PROGRAM_COPIES(owner_connects, "raw_tp/inet_sock_set_state")
{
	const struct sock *sk = (const struct sock *)argument_at(ctx, 0);
	const __u32 to = argument_at(ctx, 2);

	if ((to == OWNERS_SYN_SENT || to == OWNERS_LISTEN) && socket_is_tcp(sk))
		owners_keep(sk);
	return 0;
}

static __always_inline int owners_accepted(long fd)
{
	struct sock *sk = accept_socket(fd);

	if (sk && socket_is_tcp(sk))
		owners_keep(sk);
	return 0;
}

SEC("tp/syscalls/sys_exit_accept")
int owner_accepts(struct syscall_trace_exit *ctx)
{
	return owners_accepted(ctx->ret);
}

SEC("tp/syscalls/sys_exit_accept4")
int owner_accepts4(struct syscall_trace_exit *ctx)
{
	return owners_accepted(ctx->ret);
}

SEC("tp/raw_syscalls/sys_exit")
int owner_accepts_any(struct trace_event_raw_sys_exit *ctx)
{
	return accept_is(ctx->id) ? owners_accepted(ctx->ret) : 0;
}

/*
 * Whether the filters select the connection SK; fills in WHO, which is zeroed, as far as its thread
 * is known.  Not inlined: in interrupts only.
 */
static __noinline bool owners_find(const struct sock *sk, struct plumb_who *who)
{
	__u64 id = (__u64)sk;
	struct tcp_owner *owner = bpf_map_lookup_elem(&tcp_owners, &id);

	if (filter_is_over())
		return false;
	if (!owner || owner->rport != socket_remote_port(sk))
		return !filter_rejects_threads();
	if (who)
		*who = owner->who;
	return owner->selected;
}
