/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* file-disk: the disk on which a file is, without partition. */
#pragma once

#include <plumb/bpf/block/request.bpf.h>
#include <plumb/bpf/core/file.bpf.h>

#define OVERLAYFS_SUPER_MAGIC 0x794c7630 /* include/uapi/linux/magic.h */

struct block_device___disk {
	struct gendisk___any *bd_disk;
} __attribute__((preserve_access_index));

struct bdev_inode___any {
	struct inode vfs_inode;
} __attribute__((preserve_access_index));

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

/*
 * The inode in the upper layer of overlayfs, whose own inode is followed by the entry there. The
 * layers' types are those of a module, which may come later.
 */
static __always_inline struct inode *overlay_upper(struct inode *inode)
{
	struct dentry *upper = NULL;

	bpf_probe_read_kernel(&upper, sizeof(upper), (void *)inode + bpf_core_type_size(*inode));
	inode = upper ? BPF_CORE_READ(upper, d_inode) : NULL;
	return inode && BPF_CORE_READ(inode, i_sb) == BPF_CORE_READ(upper, d_sb) ? inode : NULL;
}

/* Whether REAL, which the file of overlayfs refers to, is an open file: then it has this inode. */
static __always_inline struct inode *overlay_inode(struct file *real, struct file *file)
{
	struct inode *inode = real ? BPF_CORE_READ(real, f_inode) : NULL;
	struct dentry *entry = real ? BPF_CORE_READ(real, f_path.dentry) : NULL;

	/* Before 6.7 it has the path of the other. */
	if (!inode || !entry ||
	    (entry != BPF_CORE_READ(file, f_path.dentry) && BPF_CORE_READ(entry, d_inode) != inode))
		return NULL;
	return inode;
}

/* The file system of the layer in which the data of a file of overlayfs are, or that of the file.
 */
static __always_inline struct super_block *overlay_real(struct file **file, struct inode **inode,
							struct super_block *sb)
{
	struct file *real, *first = NULL;
	struct inode *below;

	if (!*file || BPF_CORE_READ(sb, s_magic) != OVERLAYFS_SUPER_MAGIC)
		return sb;
	below = overlay_upper(*inode);
	if (below) {
		*file = NULL; /* this layer is not an overlay */
	} else {
		/* From 6.13 on the file is the first member of what it refers to. */
		real = BPF_CORE_READ(*file, private_data);
		bpf_probe_read_kernel(&first, sizeof(first), real);
		below = overlay_inode(real, *file);
		if (!below) {
			real = first;
			below = overlay_inode(real, *file);
		}
		if (!below)
			return sb;
		*file = real;
	}
	*inode = below;
	return BPF_CORE_READ(below, i_sb);
}

/* The number of the disk of FILE, of an inode of SB; 0: it is on none. */
static __always_inline __u32 file_disk(struct file *file, struct inode *inode,
				       struct super_block *sb)
{
	struct block_device___disk *device;
	struct gendisk___any *disk;

	/* A layer can be an overlay. */
	sb = overlay_real(&file, &inode, sb);
	sb = overlay_real(&file, &inode, sb);
	device = file_device(file, inode, sb);
	disk = device ? BPF_CORE_READ(device, bd_disk) : NULL;
	return disk ? BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor) : 0;
}
