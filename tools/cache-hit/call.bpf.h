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
	struct file *file; /* NULL: it has no page cache */
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
	if (!has_pages(c->file))
		c->file = NULL;
	return 0;
}

/* What a call does with the file of C. */
static __noinline int file_describe(struct cache_file *f, struct cache_call *c)
{
	struct file *file = c->file;
	struct address_space *mapping;
	__u32 flags;

	if (!f || !file)
		return 0;
	flags = BPF_CORE_READ(file, f_flags);
	f->file = (__u64)file;
	mapping = pages_of(file);
	f->mapping = flags & O_DIRECT ? 0 : (__u64)mapping;
	f->unseen = !mapping && !(flags & O_DIRECT) ? UNSEEN_OVERLAY : 0;
	f->tmpfs = BPF_CORE_READ(mapping, host, i_sb, s_magic) == TMPFS_MAGIC;
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
	if (plumb_config.by & PLUMB_BY_FD) {
		f->fd = fd_id(file);
		if (!bpf_map_lookup_elem(&plumb_fds, &f->fd))
			fd_remember((__u64)file, f->fd);
	}
	return 0;
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
	if (!c.file)
		return 0;
	file_describe(from, &c);
	if (!(kind & CACHE_COPY))
		return 1;
	c.kind = kind | CACHE_TO | CACHE_WRITE;
	call_read(&c, call);
	if (!c.file)
		return 0;
	file_describe(to, &c);
	if (copies_itself(from) || copies_itself(to)) {
		from->mapping = to->mapping = 0;
		from->unseen = UNSEEN_COPY;
	}
	return 1;
}
