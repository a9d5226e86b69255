/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fd-key: what the descriptor of a call is, as a key: -b fd.
 *
 * Descriptors are one row if they are described by the same text: those of a file, whatever their
 * numbers, and connections to an address and port.  The key is a number made of what tells them
 * apart; what that is, is kept in plumb_fds when it is first seen.
 */
#pragma once

#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/syscall/descriptor.bpf.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

/* Which argument of a call is its descriptor, from 1 on; 0: it has none. */
const volatile __u8 fd_arguments[2 * PLUMB_SYSCALLS] = {};
/* connect(), whose socket has an address only once it has begun. */
const volatile __s32 fd_connects[2] = {};

PLUMB_MAP(plumb_fds, HASH, 1 /* set by the loader if rows are grouped by descriptor */, __u64,
	  struct plumb_descriptor);

#define FD_AT_CWD (-100) /* AT_FDCWD */

static __always_inline __u64 fd_mix(__u64 mix, __u64 word)
{
	mix = (mix ^ word) * 0x9e3779b97f4a7c15ULL; /* Knuth, vol. 3, 6.4 */
	return mix ^ mix >> 29;
}

/* The address of a unix socket; 0: it has none. */
static __noinline __u64 fd_unix_id(const struct unix_sock *sk)
{
	struct unix_address *address = sk ? BPF_CORE_READ(sk, addr) : NULL;
	__u64 words[14] = {}, id = SOCKET_UNIX;
	__u32 length, i;

	if (!address)
		return 0;
	length = BPF_CORE_READ(address, len) - 2; /* behind the family */
	if (!length || length > UNIX_ADDRESS_LEN ||
	    bpf_probe_read_kernel(words, length,
				  (void *)address +
					  bpf_core_field_offset(struct unix_address, name) + 2))
		return 0;
	for (i = 0; i < 14; i++)
		id = fd_mix(id, words[i]);
	return id;
}

static __always_inline __u64 fd_inet_id(const struct sock *sk, __u16 family)
{
	__u16 remote = socket_remote_port(sk), port = remote ?: socket_local_port(sk);
	__u64 id = (__u32)family << 16 | BPF_CORE_READ(sk, sk_protocol), address[2] = {};

	if (!port)
		return 0;
	if (remote)
		socket_remote(sk, family, (__u32 *)address);
	else
		socket_local(sk, family, (__u32 *)address);
	/* Those that are connected to nothing differ by whether they listen. */
	id = fd_mix(id, remote ? 0 : BPF_CORE_READ(sk, __sk_common.skc_state));
	return fd_mix(fd_mix(fd_mix(id, port), address[0]), address[1]);
}

/* 0: nothing but its inode tells it apart. */
static __noinline __u64 fd_socket_id(struct file *file)
{
	struct sock *sk = socket_of(file);
	__u16 family = sk ? socket_family(sk) : 0;
	__u64 id;

	if (family == SOCKET_INET || family == SOCKET_INET6)
		return fd_inet_id(sk, family);
	if (family != SOCKET_UNIX || !bpf_core_type_exists(struct unix_sock))
		return 0;
	id = fd_unix_id((struct unix_sock *)sk);
	if (id)
		return id;
	id = fd_unix_id((struct unix_sock *)BPF_CORE_READ((struct unix_sock *)sk, peer));
	return id ? fd_mix(id, PLUMB_DESCRIPTOR_PEER) : 0;
}

/* A block device is one file, whatever its nodes, and has another inode for its pages. */
static __always_inline __u64 fd_inode_id(struct inode *inode, __u64 id)
{
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK)
		return fd_mix(S_IFBLK, BPF_CORE_READ(inode, i_rdev));
	id = fd_mix(id, BPF_CORE_READ(inode, i_generation));
	return fd_mix(fd_mix(id, BPF_CORE_READ(inode, i_sb, s_dev)), BPF_CORE_READ(inode, i_ino));
}

static __noinline __u64 fd_id(struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	__u32 type = BPF_CORE_READ(inode, i_mode) & S_IFMT;
	__u64 magic = BPF_CORE_READ(sb, s_magic), name[4] = {}, id = 0;

	if (type == S_IFSOCK)
		id = fd_socket_id(file);
	if (id)
		return id;
	if (magic == ANON_INODE_MAGIC) {
		bpf_probe_read_kernel_str(name, sizeof(name),
					  BPF_CORE_READ(file, f_path.dentry, d_name.name));
		return fd_mix(fd_mix(fd_mix(fd_mix(magic, name[0]), name[1]), name[2]), name[3]);
	}
	if (magic == PIPEFS_MAGIC)
		id = BPF_CORE_READ(file, f_mode) & 3;
	return fd_inode_id(inode, id);
}

/*
 * Keeps what the file at ADDRESS is, by ID; only the thread that adds the entry writes it.  Not
 * static: so the verifier sees it once.
 */
__noinline int fd_remember(__u64 address, __u64 id)
{
	static const struct plumb_descriptor empty;
	struct plumb_descriptor *d;

	if (bpf_map_update_elem(&plumb_fds, &id, &empty, BPF_NOEXIST))
		return 0;
	d = bpf_map_lookup_elem(&plumb_fds, &id);
	if (d)
		descriptor_describe(d, (struct file *)address);
	return 0;
}

/*
 * The number that the current thread's CALL has as its descriptor; FD_NONE: it has none.  A
 * function of its own, since all registers are on its stack.
 */
#define FD_NONE (-1)

static __noinline __s32 fd_number(__u64 call)
{
	__u64 values[8] = {}, i = (__u32)call;

	barrier_var(i); /* as in selection.bpf.h */
	if (i >= PLUMB_SYSCALLS)
		return FD_NONE;
	i += call >> 32 ? PLUMB_SYSCALLS : 0;
	if (!fd_arguments[i])
		return FD_NONE;
	syscall_read_arguments(return_registers(current_task()), call >> 32, values);
	return values[(fd_arguments[i] - 1) & 7];
}

/* The current thread is in CALL, of which T is to know the descriptor. */
static __noinline __attribute__((unused)) int fd_find(struct call_thread *t, __u64 call)
{
	__s32 fd = fd_number(call);
	struct file *file;
	__u64 id;

	if (!t)
		return 0;
	/* mmap() without a file has -1. */
	if (fd < 0) {
		t->own.fd = fd == FD_AT_CWD ? PLUMB_FD_CWD : PLUMB_FD_NONE;
		return 0;
	}
	t->own.fd = PLUMB_FD_CLOSED;
	file = file_of((struct task_struct *)bpf_get_current_task(), fd);
	if (!file)
		return 0;
	id = fd_id(file);
	t->own.fd = id;
	if (!bpf_map_lookup_elem(&plumb_fds, &id))
		fd_remember((__u64)file, id);
	return 0;
}

static __always_inline bool fd_is_connect(__u64 call)
{
	return (__s32)call == fd_connects[call >> 32 & 1];
}
