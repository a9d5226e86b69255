/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* socket: the ends of a socket. */
#pragma once

#include <plumb/bpf/core/common.bpf.h>

/* include/linux/socket.h, include/uapi/linux/stat.h */
#define SOCKET_UNIX  1
#define SOCKET_INET  2
#define SOCKET_INET6 10
#define S_IFSOCK     0140000

/* The socket that FILE is; NULL: it has none. */
static __always_inline struct sock *socket_of(struct file *file)
{
	struct socket *socket = BPF_CORE_READ(file, private_data);

	return BPF_CORE_READ(socket, sk);
}

static __always_inline __u16 socket_family(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_family);
}

/*
 * The process that connected, or listened, at the other end of a unix socket; 0: not known, or its
 * number is another pid namespace's.
 */
static __always_inline __u32 socket_peer_pid(const struct sock *sk)
{
	struct pid *pid = plumb_config.pid_namespace ? NULL : BPF_CORE_READ(sk, sk_peer_pid);

	return pid ? BPF_CORE_READ(pid, numbers[0].nr) : 0;
}

/* Ports in host byte order; 0: none. */
static __always_inline __u16 socket_local_port(const struct sock *sk)
{
	return BPF_CORE_READ(sk, __sk_common.skc_num);
}

static __always_inline __u16 socket_remote_port(const struct sock *sk)
{
	return __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
}

/* Addresses of SOCKET_INET, which fills the first word only, and SOCKET_INET6. */
static __always_inline void socket_local(const struct sock *sk, __u16 family, __u32 address[4])
{
	if (family == SOCKET_INET)
		address[0] = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);
	else
		BPF_CORE_READ_INTO((struct in6_addr *)address, sk, __sk_common.skc_v6_rcv_saddr);
}

static __always_inline void socket_remote(const struct sock *sk, __u16 family, __u32 address[4])
{
	if (family == SOCKET_INET)
		address[0] = BPF_CORE_READ(sk, __sk_common.skc_daddr);
	else
		BPF_CORE_READ_INTO((struct in6_addr *)address, sk, __sk_common.skc_v6_daddr);
}
