/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * peek: structures of the kernel that are known by their address only, read by plain loads where
 * the kernel lets a program declare what an address points to (6.2), else by helper calls. An
 * address that is bad reads as 0 in both cases.
 */
#pragma once

#include <plumb/bpf/core/current.bpf.h>

#include "file-latency.h"

const volatile struct file_config file_config = {};

extern void *bpf_rdonly_cast(const void *address, __u32 btf_id) __ksym __weak;

#define peek_cast(type, address)                                                                   \
	((type *)bpf_rdonly_cast((const void *)(address), bpf_core_type_id_kernel(type)))

/* FIELD of the struct TYPE at ADDRESS. */
#define peek(type, address, field)                                                                 \
	({                                                                                         \
		type *peeked = (type *)(address);                                                  \
                                                                                                   \
		file_config.casts ? peek_cast(type, peeked)->field : BPF_CORE_READ(peeked, field); \
	})

/* The word at ADDRESS, a number: a pointer has a type. A timespec64 begins with one everywhere. */
#define peek_word(address) ((__u64)peek(struct timespec64, address, tv_sec))

/* The file of descriptor FD of TASK, which is the current one; NULL: none. */
static __always_inline struct file *peek_file_of(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = peek(struct files_struct, current_read(task, files), fdt);

	if (!table || fd >= peek(struct fdtable, table, max_fds))
		return NULL;
	return (struct file *)peek_word((__u64)peek(struct fdtable, table, fd) + 8ULL * fd);
}

/* The string at FROM, of which the first 15 bytes count, padded with zeros. */
static __always_inline void peek_short_string(__u64 text[2], __u64 from)
{
	/* Two words, unless they may be on two pages. */
	if (!file_config.casts || (from & 4095) > 4096 - 16) {
		bpf_probe_read_kernel_str(text, 16, (const void *)from);
		return;
	}
	text[0] = peek_word(from);
	text[1] = peek_word(from + 8);
	name_trim(text, 2);
}
