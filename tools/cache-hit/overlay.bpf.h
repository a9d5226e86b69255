/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* overlay: files of overlayfs have no pages; a call reads or writes those of the file below. */
#pragma once

#include <plumb/bpf/core/types.h>
#include <bpf/bpf_core_read.h>

#define OVERLAYFS_MAGIC 0x794c7630

struct ovl_inode___plumb {
	unsigned long flags;
	struct inode vfs_inode;
	struct dentry *__upperdentry;
} __attribute__((preserve_access_index));

/* From 6.13 on; before, the private data of a file are the file below. */
struct ovl_file___plumb {
	struct file *realfile;
} __attribute__((preserve_access_index));

enum ovl_inode_flag___plumb { OVL_UPPERDATA___plumb = 3 };

/* Whether the kernel has the types, which before 5.11 it has not if overlayfs is a module. */
static __always_inline bool overlay_known(void)
{
	return bpf_core_type_exists(struct ovl_inode___plumb);
}

/*
 * Of FILE, which is of overlayfs: the pages, if its data have been copied up; else the file below.
 * A function of its own: without the types the verifier may not see it.
 */
static __noinline struct address_space *pages_of_upper(struct file **file)
{
	struct inode *vfs = BPF_CORE_READ(*file, f_inode);
	struct ovl_inode___plumb *inode =
		(void *)vfs - bpf_core_field_offset(struct ovl_inode___plumb, vfs_inode);

	/* Without this flag it was copied up without its data, or not at all. */
	if (BPF_CORE_READ(inode, flags) &
	    1 << bpf_core_enum_value(enum ovl_inode_flag___plumb, OVL_UPPERDATA___plumb))
		return BPF_CORE_READ(inode, __upperdentry, d_inode, i_mapping);
	*file = BPF_CORE_READ(*file, private_data);
	if (bpf_core_type_exists(struct ovl_file___plumb))
		*file = BPF_CORE_READ((struct ovl_file___plumb *)*file, realfile);
	return NULL;
}

/* Whose pages a call on FILE reads and writes; NULL: of overlayfs, and it has no types. */
static __noinline struct address_space *pages_of(struct file *file)
{
	struct address_space *upper;
	int i;

	for (i = 0; i < 3; i++) { /* one may be on another */
		if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) != OVERLAYFS_MAGIC)
			return BPF_CORE_READ(file, f_mapping);
		if (!overlay_known())
			break;
		upper = pages_of_upper(&file);
		if (upper)
			return upper;
	}
	return NULL;
}
