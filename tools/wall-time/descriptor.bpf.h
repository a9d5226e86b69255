/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* descriptor: the file or socket that a system call was given. */
#pragma once

#include <plumb/bpf/block/disks-follow.bpf.h>
#include <plumb/bpf/block/file-disk.bpf.h>
#include <plumb/bpf/core/socket.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>

/* Bits of system calls whose first argument is a descriptor. */
const volatile __u64 wall_descriptors[8] = {};
/* The number and 1 of poll(2) and ppoll(2); 0: there is none. */
const volatile __u32 wall_polls[2] = {};

/* By a number made of all members. */
PLUMB_MAP(wall_peers, HASH, 4096, __u64, struct wall_peer);

/* The key of the other end of a socket in wall_peers; 0: it has none that is known. */
static __always_inline __u64 peer_of(const struct sock *sk)
{
	const __u64 mix = 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	struct wall_peer peer = {.family = socket_family(sk)};
	const __u32 *words = (const __u32 *)&peer;
	__u64 key = 0;
	__u32 i;

	if (peer.family == SOCKET_UNIX) {
		peer.pid = socket_peer_pid(sk);
	} else if (peer.family == SOCKET_INET || peer.family == SOCKET_INET6) {
		socket_remote(sk, peer.family, (__u32 *)peer.address);
		peer.port = socket_remote_port(sk);
		peer.local = socket_local_port(sk);
	} else {
		return 0;
	}
	for (i = 0; i < sizeof(peer) / 4; i++)
		key = (key ^ words[i]) * mix;
	key |= 1;
	if (!bpf_map_lookup_elem(&wall_peers, &key))
		bpf_map_update_elem(&wall_peers, &key, &peer, BPF_NOEXIST);
	return key;
}

/* The descriptor that the system call WHAT got; -1: none, or several. */
static __always_inline int descriptor_of(struct task_struct *task, __u32 what)
{
	const struct pt_regs *regs = return_registers(task);
	const __u32 nr = what - 1;
	int fd = -1;

	if (nr >= 512)
		return -1;
	if (wall_descriptors[nr / 64 & 7] >> (nr & 63) & 1)
		return return_argument(regs);
	/* Of one descriptor: the first member of the first struct pollfd. */
	if ((what == wall_polls[0] || what == wall_polls[1]) && return_second_argument(regs) == 1 &&
	    bpf_probe_read_user(&fd, sizeof(fd), (const void *)return_argument(regs)))
		return -1;
	return fd;
}

/*
 * What the descriptor is that the current thread's system call got. Returns the disk on which it
 * is; 0: none.
 */
static __always_inline __u32 look_at_file(struct wall_thread *t, struct task_struct *task)
{
	const int fd = descriptor_of(task, t->what & WALL_CALL);
	struct inode *inode;
	struct file *file;
	__u32 type, disk = 0;

	t->device = 0;
	t->peer = 0;
	if (fd < 0)
		return 0;
	file = file_of(task, fd);
	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	if (type == S_IFREG || type == S_IFBLK) {
		disk = file_disk(file, inode, BPF_CORE_READ(inode, i_sb));
		t->device = disk ?: BPF_CORE_READ(inode, i_sb, s_dev);
	} else if (type == S_IFSOCK) {
		t->peer = peer_of(socket_of(file));
	}
	return disk;
}
