/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptor: the file or socket that a system call was given. */
#pragma once

#include <plumb/bpf/block/disks-follow.bpf.h>
#include <plumb/bpf/block/file-disk.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>

/* Bits of system calls whose first argument is a descriptor. */
const volatile __u64 wall_descriptors[8] = {};

/* By a number made of all members. */
PLUMB_MAP(wall_peers, HASH, 4096, __u64, struct wall_peer);

#define AF_UNIX  1
#define AF_INET  2
#define AF_INET6 10
#define S_IFSOCK 0140000

/* The process at the other end of a unix socket; 0: not known. */
static __always_inline __u32 unix_peer(const struct sock *sk)
{
	struct pid *pid = BPF_CORE_READ(sk, sk_peer_pid);

	return pid ? BPF_CORE_READ(pid, numbers[0].nr) : 0;
}

/* The key of the other end of a socket in wall_peers; 0: it has none that is known. */
static __always_inline __u64 peer_of(const struct sock *sk)
{
	const __u64 mix = 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	struct wall_peer peer = {.family = BPF_CORE_READ(sk, __sk_common.skc_family)};
	const __u32 *words = (const __u32 *)&peer;
	__u64 key = 0;
	__u32 i;

	if (peer.family == AF_UNIX) {
		peer.pid = unix_peer(sk);
	} else if (peer.family == AF_INET) {
		BPF_CORE_READ_INTO((__u32 *)peer.address, sk, __sk_common.skc_daddr);
	} else if (peer.family == AF_INET6) {
		BPF_CORE_READ_INTO((struct in6_addr *)peer.address, sk, __sk_common.skc_v6_daddr);
	} else {
		return 0;
	}
	if (peer.family != AF_UNIX) {
		peer.port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
		peer.local = BPF_CORE_READ(sk, __sk_common.skc_num);
	}
	for (i = 0; i < sizeof(peer) / 4; i++)
		key = (key ^ words[i]) * mix;
	key |= 1;
	if (!bpf_map_lookup_elem(&wall_peers, &key))
		bpf_map_update_elem(&wall_peers, &key, &peer, BPF_NOEXIST);
	return key;
}

/*
 * What the descriptor is that the current thread's system call got as its first argument. Returns
 * the disk on which it is; 0: none.
 */
static __always_inline __u32 look_at_file(struct wall_thread *t, struct task_struct *task)
{
	__u32 nr = (t->what & WALL_CALL) - 1;
	struct socket *socket;
	struct inode *inode;
	struct file *file;
	__u32 type, disk = 0;

	t->device = 0;
	t->peer = 0;
	if (nr >= 512 || !(wall_descriptors[nr / 64 & 7] >> (nr & 63) & 1))
		return 0;
	file = file_of(task, return_argument(return_registers(task)));
	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type == S_IFREG || type == S_IFBLK) {
		disk = file_disk(file, inode, BPF_CORE_READ(inode, i_sb));
		t->device = disk ?: BPF_CORE_READ(inode, i_sb, s_dev);
	} else if (type == S_IFSOCK) {
		socket = BPF_CORE_READ(file, private_data);
		t->peer = peer_of(BPF_CORE_READ(socket, sk));
	}
	return disk;
}
