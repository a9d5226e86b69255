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

/* Note the file of the call that begins. */
static __always_inline void file_note(struct io_call *c, struct task_struct *task)
{
	struct super_block *sb;
	struct inode *inode;
	struct file *file;

	__builtin_memset(c->fs, 0, sizeof(c->fs));
	c->dev = 0;
	c->of_fs = 0;
	c->task = (__u64)task;
	file = file_of(task, syscall_first_argument(return_registers(task), syscall_abi(task)));
	if (!file)
		return;
	inode = BPF_CORE_READ(file, f_inode);
	sb = BPF_CORE_READ(inode, i_sb);
	bpf_probe_read_kernel_str(c->fs, sizeof(c->fs), BPF_CORE_READ(sb, s_type, name));
	c->of_fs = file_is_of_fs(inode, sb);
	c->dev = file_disk(file, inode, sb);
}
