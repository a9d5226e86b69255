/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * descriptor, BPF side: what a file is.  Each loop and copy is bounded; nothing is read of what
 * files, pipes and sockets contain.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>
#include <plumb/bpf/core/file.bpf.h>
#include <plumb/bpf/core/socket.bpf.h>
#include <plumb/bpf/syscall/descriptor.h>

/* include/uapi/linux/stat.h, magic.h, un.h */
#define S_IFIFO          0010000
#define ANON_INODE_MAGIC 0x09041934
#define PIPEFS_MAGIC     0x50495045
#define UNIX_ADDRESS_LEN 108

/*
 * Adds the name of DENTRY; false: there is no room for another one.  The place is taken from D, of
 * which the verifier does not know what it is: else it would follow each sum of lengths on its own.
 */
static __always_inline bool descriptor_name(struct plumb_descriptor *d, const struct dentry *dentry)
{
	__u32 at = *(volatile __u32 *)&d->length;
	long n;

	if (at >= PLUMB_DESCRIPTOR_LEN)
		return false;
	n = bpf_probe_read_kernel_str(&d->names[at], PLUMB_DESCRIPTOR_NAME,
				      BPF_CORE_READ(dentry, d_name.name));
	if (n <= 0 || n > PLUMB_DESCRIPTOR_NAME)
		return false;
	d->length = at + n;
	return true;
}

static __always_inline struct mount *mount_of(struct vfsmount *vfs)
{
	return (void *)vfs - bpf_core_field_offset(struct mount, mnt);
}

/* From DENTRY in MOUNT up to the root of the mount namespace, or the process's own. */
static __noinline int descriptor_walk(struct plumb_descriptor *d, struct dentry *dentry,
				      struct mount *mount)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct dentry *root = BPF_CORE_READ(task, fs, root.dentry), *parent;
	struct mount *top = mount_of(BPF_CORE_READ(task, fs, root.mnt)), *up;
	bool has_room;
	__u32 i;

	if (!d)
		return 0;
	for (i = 0; i < PLUMB_DESCRIPTOR_DEPTH; i++) {
		if (dentry == root && mount == top)
			goto whole;
		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
			up = BPF_CORE_READ(mount, mnt_parent);
			if (up == mount)
				goto whole;
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = up;
			continue;
		}
		parent = BPF_CORE_READ(dentry, d_parent);
		has_room = descriptor_name(d, dentry);
		/* A file of no directory, such as a memfd, is its own parent. */
		if (parent == dentry) {
			d->flags |= PLUMB_DESCRIPTOR_DELETED;
			goto whole;
		}
		if (!has_room)
			return 0;
		dentry = parent;
	}
	return 0;
whole:
	d->flags |= PLUMB_DESCRIPTOR_WHOLE;
	return 0;
}

/* A file of a file system that has no paths: its dentry is its own parent, with no name but "/". */
static __always_inline bool descriptor_has_path(const struct dentry *dentry)
{
	const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);
	char first = 0;

	if (BPF_CORE_READ(dentry, d_parent) != dentry)
		return true;
	bpf_probe_read_kernel(&first, 1, name);
	return first && first != '/';
}

static __always_inline void descriptor_path(struct plumb_descriptor *d, struct file *file,
					    struct super_block *sb)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct mount *mount = mount_of(BPF_CORE_READ(file, f_path.mnt));
	bool is_root = dentry == BPF_CORE_READ(sb, s_root);
	long n;

	if (is_root || descriptor_has_path(dentry)) {
		d->kind = PLUMB_DESCRIPTOR_PATH;
		if (!is_root && !BPF_CORE_READ(dentry, d_hash.pprev))
			d->flags |= PLUMB_DESCRIPTOR_DELETED;
		descriptor_walk(d, dentry, mount);
		return;
	}
	d->kind = PLUMB_DESCRIPTOR_OTHER;
	n = bpf_probe_read_kernel_str(d->names, PLUMB_DESCRIPTOR_NAME,
				      BPF_CORE_READ(sb, s_type, name));
	d->length = n > 0 ? n : 0;
}

/* The address to which a unix socket is bound; false: none. */
static __always_inline bool descriptor_unix(struct plumb_descriptor *d, const struct unix_sock *sk)
{
	struct unix_address *address = BPF_CORE_READ(sk, addr);
	__u32 length;

	if (!address)
		return false;
	/* Behind the family. */
	length = BPF_CORE_READ(address, len) - 2;
	if (!length || length > UNIX_ADDRESS_LEN)
		return false;
	if (bpf_probe_read_kernel(d->names, length,
				  (void *)address +
					  bpf_core_field_offset(struct unix_address, name) + 2))
		return false;
	d->length = length;
	return true;
}

/* The inode of a socket; 0: no process has accepted it yet, or it is closed. */
static __always_inline __u64 descriptor_socket_inode(const struct sock *sk)
{
	struct socket *socket = sk ? BPF_CORE_READ(sk, sk_socket) : NULL;

	if (!socket || !bpf_core_type_exists(struct socket_alloc))
		return 0;
	return BPF_CORE_READ((struct socket_alloc *)socket, vfs_inode.i_ino);
}

static __always_inline void descriptor_socket(struct plumb_descriptor *d, struct file *file)
{
	struct sock *sk = socket_of(file), *peer;

	d->kind = PLUMB_DESCRIPTOR_SOCKET;
	if (!sk)
		return;
	d->family = socket_family(sk);
	d->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	d->type = BPF_CORE_READ(sk, sk_type);
	d->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (d->family == SOCKET_UNIX && bpf_core_type_exists(struct unix_sock)) {
		d->peer_pid = socket_peer_pid(sk);
		peer = BPF_CORE_READ((struct unix_sock *)sk, peer);
		d->peer_inode = descriptor_socket_inode(peer);
		if (descriptor_unix(d, (struct unix_sock *)sk))
			return;
		if (peer && descriptor_unix(d, (struct unix_sock *)peer))
			d->flags |= PLUMB_DESCRIPTOR_PEER;
		return;
	}
	if (d->family != SOCKET_INET && d->family != SOCKET_INET6)
		return;
	socket_local(sk, d->family, d->local);
	socket_remote(sk, d->family, d->remote);
	d->local_port = socket_local_port(sk);
	d->remote_port = socket_remote_port(sk);
}

/* Describes FILE, which the current thread has open, in D, which is zero. */
static __always_inline void descriptor_describe(struct plumb_descriptor *d, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	__u32 type = BPF_CORE_READ(inode, i_mode) & S_IFMT;

	d->inode = BPF_CORE_READ(inode, i_ino);
	if (type == S_IFSOCK) {
		descriptor_socket(d, file);
	} else if (type == S_IFIFO && BPF_CORE_READ(sb, s_magic) == PIPEFS_MAGIC) {
		d->kind = PLUMB_DESCRIPTOR_PIPE;
		d->flags = BPF_CORE_READ(file, f_mode) & 3; /* FMODE_READ, FMODE_WRITE */
	} else if (BPF_CORE_READ(sb, s_magic) == ANON_INODE_MAGIC) {
		d->kind = PLUMB_DESCRIPTOR_ANON;
		descriptor_name(d, BPF_CORE_READ(file, f_path.dentry));
	} else {
		descriptor_path(d, file, sb);
	}
}
