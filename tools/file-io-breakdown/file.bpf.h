/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* file: the file system and the disk of the file that a call is about. */
#ifndef IO_FILE_BPF_H
#define IO_FILE_BPF_H

#include "call.bpf.h"
#include <plumb/bpf/block/request.bpf.h>
#include <plumb/bpf/core/file.bpf.h>
#include <plumb/bpf/syscall/syscall.bpf.h>

/* Kernel stacks on x86_64 and arm64; only used where no helper returns the registers. */
#define KERNEL_STACK 16384

struct block_device___disk {
	struct gendisk___any *bd_disk;
} __attribute__((preserve_access_index));

struct bdev_inode___any {
	struct inode vfs_inode;
} __attribute__((preserve_access_index));

static __always_inline __u32 file_descriptor(struct task_struct *task)
{
	struct pt_regs *regs = syscall_registers();

	if (!regs)
		regs = (struct pt_regs *)(BPF_CORE_READ(task, stack) + KERNEL_STACK) - 1;
#if defined(__TARGET_ARCH_x86)
	if (syscall_abi(task) != PLUMB_ABI_NATIVE)
		return BPF_CORE_READ(regs, bx);
#endif
	return PT_REGS_PARM1_CORE_SYSCALL(regs);
}

/* The block device that a file is, or on which its file system is. */
static __always_inline struct block_device___disk *
file_device(struct file *file, struct inode *inode, struct super_block *sb)
{
	void *of_device;

	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFBLK)
		return (struct block_device___disk *)BPF_CORE_READ(sb, s_bdev);
	of_device = BPF_CORE_READ(file, f_mapping, host);
	if (!of_device || !bpf_core_type_exists(struct bdev_inode___any))
		return NULL;
	/* struct bdev_inode begins with the device. */
	return of_device - bpf_core_field_offset(struct bdev_inode___any, vfs_inode);
}

/* Note the file of the call that begins. */
static __always_inline void file_note(struct io_call *c, struct task_struct *task)
{
	struct block_device___disk *device;
	struct gendisk___any *disk;
	struct super_block *sb;
	struct inode *inode;
	struct file *file;

	__builtin_memset(c->fs, 0, sizeof(c->fs));
	c->dev = 0;
	c->task = (__u64)task;
	file = file_of(task, file_descriptor(task));
	if (!file)
		return;
	inode = BPF_CORE_READ(file, f_inode);
	sb = BPF_CORE_READ(inode, i_sb);
	bpf_probe_read_kernel_str(c->fs, sizeof(c->fs), BPF_CORE_READ(sb, s_type, name));
	device = file_device(file, inode, sb);
	disk = device ? BPF_CORE_READ(device, bd_disk) : NULL;
	if (disk)
		c->dev = BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
}

#endif
