/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* mapping: the parts of the key that depend on the mapping of the address. */
#pragma once

#include <plumb/bpf/core/common.bpf.h>
#include "page-fault-latency.h"

#define VM_SHARED  0x8        /* include/linux/mm.h */
#define VM_HUGETLB 0x00400000 /* the same */

/* Bits of the error code of a page fault; x86 and, from 6.16 on, all architectures report these. */
#define FAULT_CODE_PRESENT 1
#define FAULT_CODE_WRITE   2

static __always_inline bool mapping_is_shared(struct vm_area_struct *vma)
{
	return BPF_CORE_READ(vma, vm_flags) & VM_SHARED;
}

/* Private memory of huge pages has a file, which only reserves them. */
static __always_inline bool mapping_is_private_huge(struct vm_area_struct *vma)
{
	return (BPF_CORE_READ(vma, vm_flags) & (VM_HUGETLB | VM_SHARED)) == VM_HUGETLB;
}

/* CODE: of the exception, as far as it is known. */
static __always_inline __u32 mapping_kind(struct vm_area_struct *vma, __u32 code, __u32 type)
{
	bool write = code & FAULT_CODE_WRITE;

	if (bpf_core_field_exists(vma->vm_userfaultfd_ctx.ctx) &&
	    BPF_CORE_READ(vma, vm_userfaultfd_ctx.ctx))
		return FAULT_USERFAULTFD;
	if (!mapping_is_private_huge(vma)) {
		if (BPF_CORE_READ(vma, vm_file))
			return write && !mapping_is_shared(vma) ? FAULT_COW : FAULT_FILE;
		if (BPF_CORE_READ(vma, vm_ops))
			return FAULT_SPECIAL;
	}
	if (write && code & FAULT_CODE_PRESENT)
		return FAULT_COW;
	return type == FAULT_MAJOR ? FAULT_SWAP : FAULT_ANONYMOUS;
}

/* The names are those of /proc/PID/maps; of a file, its name without the folders. */
static __always_inline void mapping_area(struct vm_area_struct *vma, char *area)
{
	__u64 from = BPF_CORE_READ(vma, vm_start), to = BPF_CORE_READ(vma, vm_end), stack;
	const unsigned char *name;

	if (BPF_CORE_READ(vma, vm_file)) {
		name = BPF_CORE_READ(vma, vm_file, f_path.dentry, d_name.name);
		bpf_probe_read_kernel_str(area, FAULT_AREA_LEN, name);
		if (*area != '[') /* else it is taken for another part */
			return;
		area[0] = '.';
		area[1] = '/';
		bpf_probe_read_kernel_str(area + 2, FAULT_AREA_LEN - 2, name);
		return;
	}
	stack = BPF_CORE_READ(vma, vm_mm, start_stack);
	if (BPF_CORE_READ(vma, vm_ops))
		__builtin_memcpy(area, "[special]", sizeof("[special]"));
	else if (from < BPF_CORE_READ(vma, vm_mm, brk) && to > BPF_CORE_READ(vma, vm_mm, start_brk))
		__builtin_memcpy(area, "[heap]", sizeof("[heap]"));
	else if (from <= stack && to >= stack)
		__builtin_memcpy(area, "[stack]", sizeof("[stack]"));
	else
		__builtin_memcpy(area, "[anon]", sizeof("[anon]"));
}

/* VMA may be NULL, not known.  KEY has its type. */
static __always_inline void mapping_fill(struct vm_area_struct *vma, __u32 code,
					 struct fault_key *key)
{
	if (!vma) {
		if (plumb_config.by & FAULT_BY_AREA)
			__builtin_memcpy(key->area, "[unknown]", sizeof("[unknown]"));
		return;
	}
	if (plumb_config.by & FAULT_BY_KIND)
		key->kind = mapping_kind(vma, code, key->type);
	if (plumb_config.by & FAULT_BY_AREA)
		mapping_area(vma, key->area);
}
