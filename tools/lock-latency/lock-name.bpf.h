/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * lock-name: what a lock is that has no symbol, by its address.
 *
 * If it is the member of a certain struct, that struct begins at a known distance before it and has
 * a pointer that leads back to itself, or is what the current thread uses.  What is read there is
 * compared only; of a lock elsewhere, no word has the right address.
 */
#pragma once

#include <plumb/bpf/core/file.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#include "lock-latency.h"

struct rwbase_rt___own {
	struct {
		int counter;
	} readers;
	struct rt_mutex_base rtmutex;
} __attribute__((preserve_access_index));

struct rw_semaphore___rt {
	struct rwbase_rt___own rwbase;
} __attribute__((preserve_access_index));

/* The struct of TYPE in whose MEMBER the lock at ADDRESS would be. */
#define lock_struct(address, type, member)                                                         \
	((struct type *)((address)-bpf_core_field_offset(struct type, member)))

/* Before 7.0, and from then on: flavors, as programs are compiled with the types of either. */
struct dentry___named {
	union {
		struct hlist_node d_alias;
	} d_u;
} __attribute__((preserve_access_index));

struct dentry___unnamed {
	struct hlist_node d_alias;
} __attribute__((preserve_access_index));

static __always_inline __u64 dentry_of(__u64 alias)
{
	if (!alias)
		return 0;
	if (bpf_core_field_exists(struct dentry___named, d_u.d_alias))
		return (__u64)lock_struct(alias, dentry___named, d_u.d_alias);
	if (bpf_core_field_exists(struct dentry___unnamed, d_alias))
		return (__u64)lock_struct(alias, dentry___unnamed, d_alias);
	return 0;
}

/* The name of one of the inode's directory entries. */
static __always_inline void name_inode(struct lock_id *id, struct inode *inode, __u32 member)
{
	struct dentry *dentry = (void *)dentry_of((__u64)BPF_CORE_READ(inode, i_dentry.first));

	id->member = member;
	id->number = BPF_CORE_READ(inode, i_ino);
	if (dentry)
		bpf_probe_read_kernel_str(id->name, sizeof(id->name),
					  BPF_CORE_READ(dentry, d_name.name));
}

static __always_inline bool is_inode(struct inode *inode)
{
	return BPF_CORE_READ(inode, i_data.host) == inode;
}

/* That of an inode, not one of a block device. */
static __always_inline bool is_mapping(struct address_space *mapping, struct inode *host)
{
	return host && (__u64)host + bpf_core_field_offset(struct inode, i_data) == (__u64)mapping;
}

static __always_inline bool name_mapping(struct lock_id *id, struct address_space *mapping,
					 __u32 member)
{
	struct inode *host = BPF_CORE_READ(mapping, host);

	if (!is_mapping(mapping, host))
		return false;
	name_inode(id, host, member);
	return true;
}

static __always_inline void name_process(struct lock_id *id, struct task_struct *of)
{
	id->member = LOCK_MMAP;
	id->number = task_pid(of);
	bpf_probe_read_kernel_str(id->name, PLUMB_COMM_LEN,
				  (void *)BPF_CORE_READ(of, group_leader) +
					  bpf_core_field_offset(struct task_struct, comm));
}

/* That of the current process, or another one's, which has a pointer to its owner. */
static __always_inline bool name_mm(struct lock_id *id, struct task_struct *task, __u64 lock)
{
	struct mm_struct *mm = lock_struct(lock, mm_struct, mmap_lock);
	struct task_struct *owner;

	if (BPF_CORE_READ(task, mm) == mm) {
		name_process(id, task);
		return true;
	}
	if (!bpf_core_field_exists(mm->owner))
		return false;
	owner = BPF_CORE_READ(mm, owner);
	if (!owner || BPF_CORE_READ(owner, mm) != mm)
		return false;
	name_process(id, owner);
	return true;
}

static __always_inline bool name_rwsem(struct lock_id *id, struct task_struct *task, __u64 lock)
{
	struct super_block *sb = lock_struct(lock, super_block, s_umount);
	struct anon_vma *anon = lock_struct(lock, anon_vma, rwsem);
	struct inode *inode = lock_struct(lock, inode, i_rwsem);

	if (name_mm(id, task, lock))
		return true;
	if (is_inode(inode)) {
		name_inode(id, inode, LOCK_INODE);
		return true;
	}
	if (name_mapping(id, lock_struct(lock, address_space, i_mmap_rwsem), LOCK_I_MMAP))
		return true;
	if (bpf_core_field_exists(struct address_space, invalidate_lock) &&
	    name_mapping(id, lock_struct(lock, address_space, invalidate_lock), LOCK_INVALIDATE))
		return true;
	if (BPF_CORE_READ(anon, root) == anon) {
		id->member = LOCK_ANON_VMA;
		return true;
	}
	if (BPF_CORE_READ(sb, s_root, d_sb) != sb)
		return false;
	id->member = LOCK_UMOUNT;
	bpf_probe_read_kernel_str(id->name, sizeof(id->name),
				  (void *)sb + bpf_core_field_offset(struct super_block, s_id));
	return true;
}

/* A mutex of the file that is the first argument of the current thread's system call. */
static __always_inline void name_mutex(struct lock_id *id, struct task_struct *task, __u64 lock)
{
	struct eventpoll *ep = lock_struct(lock, eventpoll, mtx);
	struct inode *inode;
	struct file *file;

	if (bpf_core_field_exists(ep->file) && BPF_CORE_READ(ep, file, private_data) == ep) {
		id->member = LOCK_EPOLL;
		return;
	}
	if (!registers_call(task))
		return;
	file = file_of(task, return_argument(return_registers(task)));
	if (!file)
		return;
	inode = BPF_CORE_READ(file, f_inode);
	if (lock_struct(lock, file, f_pos_lock) == file) {
		name_inode(id, inode, LOCK_POSITION);
	} else if (lock_struct(lock, pipe_inode_info, mutex) == BPF_CORE_READ(inode, i_pipe)) {
		id->member = LOCK_PIPE;
		id->number = BPF_CORE_READ(inode, i_ino);
	}
}

/* A run queue, which the queue of its first group leads back to. */
static __always_inline void name_rq(struct lock_id *id)
{
	struct rq *rq = lock_struct(id->lock, rq, __lock);

	if (!bpf_core_field_exists(rq->cfs.rq) || BPF_CORE_READ(rq, cfs.rq) != rq)
		return;
	id->member = LOCK_RQ;
	id->number = BPF_CORE_READ(rq, cpu);
}

/* The lock by which the writers of a rwsem exclude each other with PREEMPT_RT. */
static __always_inline bool name_rt_writers(struct lock_id *id, struct task_struct *task)
{
	if (!bpf_core_field_exists(struct rw_semaphore___rt, rwbase))
		return false;
	return name_rwsem(id, task,
			  (__u64)lock_struct(id->lock, rw_semaphore___rt, rwbase.rtmutex));
}

/* On a kernel with PREEMPT_RT the lock may also be that of a rwsem's writers, or a mutex. */
static __always_inline void lock_name(struct lock_id *id, struct task_struct *task)
{
	if (id->kind == LOCK_RWSEM_READ || id->kind == LOCK_RWSEM_WRITE ||
	    id->kind == LOCK_RT_READ || id->kind == LOCK_RT_WRITE)
		name_rwsem(id, task, id->lock);
	else if (id->kind == LOCK_SPINLOCK)
		name_rq(id);
	else if (id->kind == LOCK_MUTEX)
		name_mutex(id, task, id->lock);
	else if (id->kind == LOCK_RTMUTEX && !name_rt_writers(id, task))
		name_mutex(id, task, id->lock);
}
