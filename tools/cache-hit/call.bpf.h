/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* call: the file of a call, and which of its pages the call asks for. */
#pragma once

#include <plumb/bpf/syscall/fd-key.bpf.h>
#include "cache-hit.h"
#include "overlay.bpf.h"

/* By number, of both tables: CACHE_POSITION ... */
const volatile __u8 cache_calls[2 * PLUMB_SYSCALLS] = {};

/* Of the number of bytes in a page, set by the loader. */
const volatile __u32 page_bits = 12;

#include "tmpfs.bpf.h"

#define O_APPEND 00002000
#if defined(__TARGET_ARCH_arm64)
#define O_DIRECT 0200000
#else
#define O_DIRECT 00040000
#endif

static __always_inline __u32 call_kind(__u64 call)
{
	return syscall_kind(cache_calls, call, call >> 32);
}

static __always_inline bool has_pages(struct file *file)
{
	__u32 type = file ? BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT : 0;

	return type == S_IFREG || type == S_IFBLK;
}

/* What a call says in its arguments. */
struct cache_call {
	struct file *file;
	__u64 size;
	__s64 position; /* negative: that of the file */
	__u64 offset;   /* where the position is instead; 0: nowhere */
	__u32 kind;
};

/* Not inlined: the registers are on its stack. */
static __noinline int call_read(struct cache_call *c, __u64 call)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 values[6] = {}, fd;

	syscall_read_arguments(return_registers(task), call >> 32, values);
	fd = c->kind & CACHE_TO ? values[2] : c->kind & CACHE_SENDFILE ? values[1] : values[0];
	c->file = file_of(task, fd);
	c->size = values[2];
	c->position = c->kind & CACHE_POSITION ? values[3] : -1;
	c->offset = 0;
	if (c->kind & CACHE_SENDFILE) {
		c->offset = values[2];
		c->size = values[3];
	}
	if (c->kind & (CACHE_SPLICE | CACHE_COPY)) {
		c->offset = c->kind & CACHE_TO ? values[3] : values[1];
		c->size = values[4];
	}
	if (c->kind & CACHE_SPLICE && !has_pages(c->file)) { /* from a pipe to a file */
		c->kind |= CACHE_WRITE;
		c->file = file_of(task, values[2]);
		c->offset = values[3];
	}
	return 0;
}

/* The memory of a file and of its inode may be used again for others. */
static __always_inline bool file_is_known(const struct cache_file *f, const struct file *file)
{
	const struct inode *inode = (void *)f->inode;

	return f->file == (__u64)file && BPF_CORE_READ(file, f_inode) == inode &&
	       BPF_CORE_READ(inode, i_ino) == f->number &&
	       BPF_CORE_READ(inode, i_generation) == f->generation &&
	       (__u64)BPF_CORE_READ(inode, i_sb) == f->super;
}

static __always_inline void file_learn(struct cache_file *f, struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct address_space *mapping = pages_of(file);

	f->file = (__u64)file;
	f->inode = (__u64)inode;
	f->number = BPF_CORE_READ(inode, i_ino);
	f->generation = BPF_CORE_READ(inode, i_generation);
	f->super = (__u64)BPF_CORE_READ(inode, i_sb);
	f->all = (__u64)mapping;
	f->tmpfs = BPF_CORE_READ(mapping, host, i_sb, s_magic) == TMPFS_MAGIC;
	/* A file of overlayfs can get other pages. */
	if (mapping != BPF_CORE_READ(file, f_mapping))
		f->inode = 0;
	if (plumb_config.by & PLUMB_BY_FD) {
		f->fd = fd_id(file);
		if (!bpf_map_lookup_elem(&plumb_fds, &f->fd))
			fd_remember((__u64)file, f->fd);
	}
}

/* What a call does with the file of C; whether that has pages. */
static __noinline int file_describe(struct cache_file *f, struct cache_call *c)
{
	struct file *file = c->file;
	struct address_space *mapping;
	__u32 flags;

	if (!f || !file)
		return 0;
	if (!file_is_known(f, file)) {
		if (!has_pages(file))
			return 0;
		file_learn(f, file);
	}
	flags = BPF_CORE_READ(file, f_flags);
	mapping = (void *)f->all;
	f->mapping = flags & O_DIRECT ? 0 : f->all;
	f->unseen = !mapping && !(flags & O_DIRECT) ? UNSEEN_OVERLAY : 0;
	f->pages = BPF_CORE_READ(mapping, nrpages);
	f->offset = c->offset;
	if (c->offset)
		bpf_probe_read_user(&c->position, sizeof(c->position), (void *)c->offset);
	f->position = c->position >= 0 ? c->position
		      : c->kind & CACHE_WRITE && flags & O_APPEND
			      ? BPF_CORE_READ(mapping, host, i_size)
			      : BPF_CORE_READ(file, f_pos);
	f->first = f->position >> page_bits;
	f->last = c->kind & CACHE_VECTOR ? ~0ULL : (f->position + c->size - 1) >> page_bits;
	f->missed = f->ahead = f->n_runs = 0;
	return 1;
}

/* Whether a file system can copy data by itself, also such as no page of them is in memory. */
static __always_inline bool copies_itself(const struct cache_file *f)
{
	const struct address_space *mapping = (void *)f->mapping;
	const struct file_operations *op = BPF_CORE_READ(mapping, host, i_fop);

	return BPF_CORE_READ(op, copy_file_range) || BPF_CORE_READ(op, remap_file_range);
}

/* Whether the call is one on a file with pages. */
static __noinline int call_describe(struct call_thread *t, __u64 call, __u32 kind)
{
	struct cache_call c = {.kind = kind};
	struct cache_file *from, *to;

	if (!t)
		return 0;
	from = (struct cache_file *)&t->own;
	to = &t->own.to;
	to->file = to->mapping = 0;
	call_read(&c, call);
	if (!file_describe(from, &c))
		return 0;
	if (!(kind & CACHE_COPY))
		return 1;
	c.kind = kind | CACHE_TO | CACHE_WRITE;
	call_read(&c, call);
	if (!file_describe(to, &c))
		return 0;
	if (copies_itself(from) || copies_itself(to)) {
		from->mapping = to->mapping = 0;
		from->unseen = UNSEEN_COPY;
	}
	return 1;
}
