/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * find-mapping: the mapping (vm_area_struct) of an address of the current process.
 *
 * It reads the tree of the mappings without a lock.  bpf_find_vma() takes the lock, and so fails
 * while another thread changes a mapping.  In programs of software events it also gives the lock
 * back in an interrupt that the CPU sends to itself (one for each call in /proc/interrupts,
 * on 6.12, 6.18 and 7.3): 16 us a fault, measured in a virtual machine.
 *
 * If another thread changes the tree meanwhile, the search may come to a wrong mapping or to none.
 * So a mapping is taken only if the address is in it.
 */
#pragma once

#include <plumb/bpf/core/ledger.bpf.h>

/* Before 6.1: a red-black tree. */
struct vm_area_struct___tree {
	struct rb_node vm_rb;
} __attribute__((preserve_access_index));

struct mm_struct___tree {
	struct rb_root mm_rb;
} __attribute__((preserve_access_index));

#define RB_LEVELS 40

static __always_inline struct vm_area_struct *mapping_in_rb_tree(struct mm_struct *mm,
								 __u64 address)
{
	struct rb_node *node = BPF_CORE_READ((struct mm_struct___tree *)mm, mm_rb.rb_node);
	struct vm_area_struct *vma;
	int i;

	for (i = 0; i < RB_LEVELS && node; i++) {
		vma = (void *)node - bpf_core_field_offset(struct vm_area_struct___tree, vm_rb);
		if (address >= BPF_CORE_READ(vma, vm_end))
			node = BPF_CORE_READ(node, rb_right);
		else if (address < BPF_CORE_READ(vma, vm_start))
			node = BPF_CORE_READ(node, rb_left);
		else
			return vma;
	}
	return NULL;
}

/*
 * A maple tree (Documentation/core-api/maple_tree.rst).  A pointer to a node has the node's type in
 * bits 3 to 6.  A node has an array of pivots, each the last address of a slot, and the slots.
 */
#define MAPLE_LEVELS     8
#define MAPLE_NODE_BYTES 256
#define MAPLE_WORD_BITS  5 /* words of a node, as a power of two */
#define MAPLE_LEAF       1
#define MAPLE_ARANGE     3 /* an inner node with the sizes of gaps, and fewer slots */

/* The node that a CPU is looking at.  The program cannot be interrupted there by itself. */
static __u64 maple_nodes[PLUMB_LEDGERS << MAPLE_WORD_BITS] = {};

static __always_inline __u64 maple_word(__u32 cpu, __u32 n)
{
	return maple_nodes[ledger_index(cpu, n & ((1 << MAPLE_WORD_BITS) - 1), MAPLE_WORD_BITS)];
}

/* The slot for ADDRESS in the node of this type. */
static __always_inline __u64 maple_slot(__u32 type, __u64 address, __u32 cpu)
{
	__u32 pivot = bpf_core_field_offset(struct maple_range_64, pivot) / 8, i;
	__u32 slot = bpf_core_field_offset(struct maple_range_64, slot) / 8;

	if (type == MAPLE_ARANGE) {
		pivot = bpf_core_field_offset(struct maple_arange_64, pivot) / 8;
		slot = bpf_core_field_offset(struct maple_arange_64, slot) / 8;
	}
	for (i = 0; i < (1 << MAPLE_WORD_BITS) / 2; i++)
		if (pivot + i >= slot || maple_word(cpu, pivot + i) >= address)
			break;
	return maple_word(cpu, slot + i);
}

static __always_inline struct vm_area_struct *mapping_in_maple_tree(struct mm_struct *mm,
								    __u64 address, __u32 cpu)
{
	__u64 entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root), *node;
	__u32 type;
	int i;

	node = &maple_nodes[ledger_index(cpu, 0, MAPLE_WORD_BITS)];
	for (i = 0; i < MAPLE_LEVELS; i++) {
		type = entry >> 3 & 15;
		if (type < MAPLE_LEAF || type > MAPLE_ARANGE ||
		    bpf_probe_read_kernel(node, MAPLE_NODE_BYTES,
					  (void *)(entry & ~(MAPLE_NODE_BYTES - 1ULL))))
			return NULL;
		entry = maple_slot(type, address, cpu);
		if (type == MAPLE_LEAF)
			return (struct vm_area_struct *)entry;
	}
	return NULL;
}

/* NULL: not found. */
static __always_inline struct vm_area_struct *mapping_find(struct task_struct *task, __u64 address,
							   __u32 cpu)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct vm_area_struct *vma;

	if (!mm)
		return NULL;
	if (bpf_core_field_exists(mm->mm_mt))
		vma = mapping_in_maple_tree(mm, address, cpu);
	else
		vma = mapping_in_rb_tree(mm, address);
	if (!vma || BPF_CORE_READ(vma, vm_mm) != mm || address < BPF_CORE_READ(vma, vm_start) ||
	    address >= BPF_CORE_READ(vma, vm_end))
		return NULL;
	return vma;
}
