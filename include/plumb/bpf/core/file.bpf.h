/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* file: the files of the current process. */
#pragma once

#include <plumb/bpf/core/common.bpf.h>

/* Types of inodes: include/uapi/linux/stat.h */
#define S_IFMT  0170000
#define S_IFDIR 0040000
#define S_IFBLK 0060000
#define S_IFREG 0100000

/* The file of descriptor FD of TASK, which is the current one; NULL: none. */
static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct file *file = NULL, **files;
	struct fdtable *table;

	/* By plain loads where the task has a type (5.15). */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)) {
		table = bpf_get_current_task_btf()->files->fdt;
		if (!table || fd >= table->max_fds)
			return NULL;
		files = table->fd;
	} else {
		table = BPF_CORE_READ(task, files, fdt);
		if (!table || fd >= BPF_CORE_READ(table, max_fds))
			return NULL;
		files = BPF_CORE_READ(table, fd);
	}
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return file;
}
