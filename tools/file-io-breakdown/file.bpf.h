/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* file: the file system and the disk of the file that a call is about. */
#pragma once

#include "call.bpf.h"
#include <plumb/bpf/block/file-disk.bpf.h>
#include <plumb/bpf/sched/return.bpf.h>
#include <plumb/bpf/syscall/selection.bpf.h>

#define SB_NOUSER (1UL << 31) /* include/linux/fs.h */

/*
 * Whether the calls of the file are those of a file system, and so what they wait for; not of a
 * device, a pipe or a socket.
 */
static __always_inline bool file_is_of_fs(struct inode *inode, struct super_block *sb)
{
	__u32 type = BPF_CORE_READ(inode, i_mode) & S_IFMT;

	/* From 6.16 on an eventfd and the like are regular files for the kernel. */
	return (type == S_IFREG || type == S_IFDIR) && !(BPF_CORE_READ(sb, s_flags) & SB_NOUSER);
}

/* Not inlined: a thread's next call is mostly on the same file. */
static __noinline int file_learn(struct io_call *c)
{
	struct super_block *sb;
	struct inode *inode;
	struct file *file;

	if (!c)
		return 0;
	file = (struct file *)c->file.file;
	inode = (struct inode *)c->file.inode;
	sb = (struct super_block *)c->file.super;
	__builtin_memset(c->fs, 0, sizeof(c->fs));
	c->dev = 0;
	c->of_fs = 0;
	if (!file)
		return 0;
	bpf_probe_read_kernel_str(c->fs, sizeof(c->fs), BPF_CORE_READ(sb, s_type, name));
	c->of_fs = file_is_of_fs(inode, sb);
	c->dev = file_disk(file, inode, sb);
	/* Its layer can change. */
	if (BPF_CORE_READ(sb, s_magic) == OVERLAYFS_SUPER_MAGIC)
		c->file.file = 0;
	return 0;
}

/* Note the file of the call that begins. */
static __always_inline void file_note(struct io_call *c, struct task_struct *task)
{
	struct pt_regs *regs = return_registers(task);
	__u32 abi = syscall_abi(task);
	__u64 fd =
		abi == PLUMB_ABI_NATIVE ? return_argument(regs) : syscall_first_argument(regs, abi);
	struct file *file = file_of(task, fd);
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	const struct io_file now = {
		.file = (__u64)file,
		.inode = (__u64)inode,
		.super = (__u64)sb,
		.device = (__u64)BPF_CORE_READ(sb, s_bdev),
		.number = BPF_CORE_READ(inode, i_ino),
		.generation = BPF_CORE_READ(inode, i_generation),
	};

	c->task = (__u64)task;
	if (file && c->file.file == now.file && c->file.inode == now.inode &&
	    c->file.super == now.super && c->file.device == now.device &&
	    c->file.number == now.number && c->file.generation == now.generation)
		return;
	c->file = now;
	file_learn(c);
}
