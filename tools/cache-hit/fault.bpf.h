/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fault: page faults of mapped files, each a call with one page, from 6.12 on.
 *
 * mm_filemap_map_pages says that a fault maps pages that are in the page cache, mm_filemap_fault
 * that it looks for a page there.  A fault can reach both, and if it waits it begins again.  Until
 * the kernel has counted a fault of the thread, all is of one fault.
 */
#pragma once

#include "ahead.bpf.h"
#include "call.bpf.h"

/* Whether page faults are counted. */
const volatile bool cache_faults = false;

static __always_inline __u64 faults_counted(struct task_struct *task)
{
	return current_read(task, min_flt) + current_read(task, maj_flt);
}

static __always_inline bool is_in_fault(const struct cache_fault *f, __u64 mapping,
					struct task_struct *task)
{
	return f->mapping == mapping && f->counted == faults_counted(task);
}

/* Adds the string at FROM. */
static __always_inline void fault_name(struct plumb_descriptor *d, const char *from)
{
	__u32 at = *(volatile __u32 *)&d->length;
	long n;

	if (at >= PLUMB_DESCRIPTOR_LEN)
		return;
	n = bpf_probe_read_kernel_str(&d->names[at], PLUMB_DESCRIPTOR_NAME, from);
	if (n > 0 && n <= PLUMB_DESCRIPTOR_NAME)
		d->length = at + n;
}

/* INODE, of the pages of a block device, has no name; "/dev/vda1", as the kernel names the device.
 */
static __always_inline void fault_device(struct plumb_descriptor *d, struct inode *inode)
{
	const struct bdev_inode *device =
		(void *)inode - bpf_core_field_offset(struct bdev_inode, vfs_inode);
	static const char directory[] = "dev";

	fault_name(d, BPF_CORE_READ(device, bdev.bd_device.kobj.name));
	fault_name(d, directory);
	d->flags |= PLUMB_DESCRIPTOR_WHOLE;
}

/* The name of INODE, and those of the folders above up to the root of its file system. */
static __always_inline void fault_path(struct plumb_descriptor *d, struct inode *inode)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	const struct dentry *root = BPF_CORE_READ(inode, i_sb, s_root), *dentry;
	const void *node = BPF_CORE_READ(inode, i_dentry.first);
	__u32 i;

	d->inode = BPF_CORE_READ(inode, i_ino);
	d->kind = PLUMB_DESCRIPTOR_PATH;
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK) {
		if (bpf_core_field_exists(struct block_device, bd_device))
			fault_device(d, inode);
		return;
	}
	if (!node || !bpf_core_field_exists(struct dentry, d_u.d_alias))
		return;
	dentry = node - bpf_core_field_offset(struct dentry, d_u.d_alias);
	for (i = 0; i < PLUMB_DESCRIPTOR_DEPTH && dentry != root; i++) {
		if (!descriptor_name(d, dentry))
			return;
		dentry = BPF_CORE_READ(dentry, d_parent);
	}
	if (dentry == root && dentry == BPF_CORE_READ(task, fs, root.dentry))
		d->flags |= PLUMB_DESCRIPTOR_WHOLE;
}

/* The same id as of a descriptor of the file.  Not static: so the verifier sees it once. */
__noinline __u64 fault_file(__u64 mapping)
{
	static const struct plumb_descriptor empty;
	struct inode *inode = BPF_CORE_READ((struct address_space *)mapping, host);
	__u64 id = fd_inode_id(inode, 0);
	struct plumb_descriptor *d;

	if (bpf_map_lookup_elem(&plumb_fds, &id) ||
	    bpf_map_update_elem(&plumb_fds, &id, &empty, BPF_NOEXIST))
		return id;
	d = bpf_map_lookup_elem(&plumb_fds, &id);
	if (d)
		fault_path(d, inode);
	return id;
}

/* The page was there, unless the thread adds it. */
static __always_inline void fault_begins(struct call_thread *t, struct task_struct *task,
					 __u64 mapping, __u64 index)
{
	struct cache_fault *f = &t->own.fault;
	__u32 cpu = bpf_get_smp_processor_id();
	struct plumb_totals *totals;
	__u64 fd;

	if (is_in_fault(f, mapping, task)) {
		if (index != ANY_PAGE)
			f->index = index;
		return;
	}
	key_refresh(t, task);
	fd = plumb_config.by & PLUMB_BY_FD ? fault_file(mapping) : 0;
	f->mapping = mapping;
	f->index = index;
	f->counted = faults_counted(task);
	f->slot = call_slot(t, task, CACHE_FAULT, fd, 0, cpu);
	f->missed = 0;
	totals = totals_of(f->slot, cpu);
	if (!totals)
		return;
	ledger_count(cpu, began);
	totals_add_call(totals, 0);
	plumb_add(totals->counters[CACHE_HITS], 1);
}

static __always_inline void fault_adds(struct cache_fault *f, __u64 low, __u64 high)
{
	struct plumb_totals *totals = totals_of(f->slot, bpf_get_smp_processor_id());
	__u64 in = !f->missed && f->index >= low && f->index < high;

	if (!totals)
		return;
	f->missed |= in;
	plumb_add(totals->counters[CACHE_HITS], -in);
	plumb_add(totals->counters[CACHE_MISSES], in);
	plumb_add(totals->counters[CACHE_AHEAD], high - low - in);
	ahead_mark(f->mapping, low, in ? f->index : high, 1 + f->slot);
	if (in)
		ahead_mark(f->mapping, f->index + 1, high, 1 + f->slot);
}

/* Page faults of files of tmpfs that the kernel reports: not those that add a page; by CPU. */
__u64 cache_tmpfs_faults[PLUMB_LEDGERS] = {};

/* Not static: so the verifier sees it once. */
__noinline int fault_seen(__u64 mapping, __u64 index)
{
	struct task_struct *task = current_task();
	struct call_thread *t;

	if (!cache_faults || !plumb_live || !filter_entry(task))
		return 0;
	if (BPF_CORE_READ((struct address_space *)mapping, host, i_sb, s_magic) == TMPFS_MAGIC) {
		plumb_add(cache_tmpfs_faults[bpf_get_smp_processor_id() & (PLUMB_LEDGERS - 1)], 1);
		return 0;
	}
	t = inflight_make(task);
	if (t)
		fault_begins(t, task, mapping, index);
	else
		ledger_count(bpf_get_smp_processor_id(), no_state);
	return 0;
}
