/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* describe: what a struct file says of the file, on kernels from 5.10 on. */
#pragma once

#include "peek.bpf.h"
#include <plumb/bpf/core/file.bpf.h>

/* What is kept of a file until its call ends. */
struct file_facts {
	__u64 fs[FILE_TYPE_LEN / 8]; /* a string */
	struct file_id id;
	__u32 flags; /* of file_key, and FILE_UNCACHED */
	__u32 is_file;
};

/* include/uapi/linux/magic.h, asm-generic/fcntl.h and the architectures' */
#define ANON_INODE_FS_MAGIC 0x09041934
#define O_DSYNC             00010000
#define O_SYNC              04010000
#if defined(__TARGET_ARCH_arm64)
#define O_DIRECT 0200000
#else
#define O_DIRECT 00040000
#endif

/*
 * Whether it is what users call a file: a regular file, a directory or a block device, not a pipe,
 * a socket or a terminal. Inodes of eventfd and its like are regular, too, from 6.16 on.
 */
static __always_inline bool file_is_one(struct file *file)
{
	struct inode *inode = peek(struct file, file, f_inode);
	struct super_block *sb;

	switch (peek(struct inode, inode, i_mode) & S_IFMT) {
	case S_IFREG:
		sb = peek(struct inode, inode, i_sb);
		return peek(struct super_block, sb, s_magic) != ANON_INODE_FS_MAGIC;
	case S_IFDIR:
	case S_IFBLK:
		return true;
	default:
		return false;
	}
}

static __always_inline __u32 file_flags(struct file *file)
{
	__u32 flags = peek(struct file, file, f_flags), sync = flags & O_SYNC;

	return !!(flags & O_DIRECT) << FILE_DIRECT | (sync == O_SYNC) << FILE_SYNC |
	       (sync == O_DSYNC) << FILE_DSYNC;
}

/* The names of files, by file_id; those that are found when it is full have none. */
PLUMB_MAP(file_paths, HASH, 1 /* set by the loader if rows are grouped by file */, struct file_id,
	  struct file_path);

/* Write the names of DENTRY and what is above it to PATH. */
static __always_inline void path_write(struct file_path *path, struct dentry *dentry)
{
	__u32 at = 0, state = FILE_PATH_CUT, i;
	struct dentry *parent;
	long n;

	for (i = 0; i < FILE_PATH_DEPTH; i++) {
		parent = BPF_CORE_READ(dentry, d_parent);
		/* A file of no directory (memfd) is its own parent. */
		if (parent == dentry && i) {
			state = FILE_PATH_WHOLE;
			break;
		}
		barrier_var(at);
		at &= FILE_PATH_LEN - 1;
		n = bpf_probe_read_kernel_str(&path->names[at], FILE_NAME_LEN,
					      BPF_CORE_READ(dentry, d_name.name));
		if (n <= 0 || n > FILE_NAME_LEN)
			break;
		path->length = at + n;
		if (parent == dentry) {
			state = FILE_PATH_WHOLE;
			break;
		}
		at += n;
		if (at >= FILE_PATH_LEN)
			break;
		dentry = parent;
	}
	path->state = state;
}

/*
 * Remember the path of a file when it is first seen. Not inlined: it is called rarely, and from
 * several programs.
 */
static __noinline int path_remember(struct file *file, const struct file_id *id)
{
	static const struct file_path empty;
	struct file_path *path;

	if (!id || bpf_map_lookup_elem(&file_paths, id) ||
	    bpf_map_update_elem(&file_paths, id, &empty, BPF_NOEXIST))
		return 0;
	path = bpf_map_lookup_elem(&file_paths, id);
	if (path)
		path_write(path, BPF_CORE_READ(file, f_path.dentry));
	return 0;
}

/* Fill in those of FACTS, all zero, that the keys need, and keep the path; FILE may be NULL. */
static __always_inline void file_describe(struct file *file, struct file_facts *facts)
{
	struct super_block *sb;
	struct inode *inode;

	if (!file)
		return;
	inode = peek(struct file, file, f_inode);
	sb = peek(struct inode, inode, i_sb);
	if (plumb_config.by & FILE_BY_FS)
		peek_short_string(facts->fs,
				  peek_word((__u64)peek(struct super_block, sb, s_type) +
					    bpf_core_field_offset(struct file_system_type, name)));
	if (plumb_config.by & (FILE_BY_MOUNT | FILE_BY_FILE))
		facts->id.dev = peek(struct super_block, sb, s_dev);
	if (plumb_config.by & FILE_BY_FILE) {
		facts->id.ino = peek(struct inode, inode, i_ino);
		facts->id.generation = peek(struct inode, inode, i_generation);
		path_remember(file, &facts->id);
	}
	if (plumb_config.by & (FILE_BY_FLAGS | FILE_BY_CACHE))
		facts->flags = file_flags(file);
	if (plumb_config.by & FILE_BY_CACHE &&
	    !peek(struct address_space, peek(struct file, file, f_mapping), nrpages))
		facts->flags |= FILE_UNCACHED;
}
