/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/kernel/renamed.h>
#include <plumb/kernel/types.h>
#include <plumb/syscalls/syscalls.h>
#include <plumb/syscalls/untimed.h>

#include <bpf/btf.h>

/* ---- functions ---- */

/* By enum file_op and file_untimed, those of all kernels and architectures. */
static const char *const functions[FILE_CALLS][6] = {
	[FILE_READ] = {"vfs_read", "vfs_readv"},
	[FILE_WRITE] = {"vfs_write", "vfs_writev"},
	[FILE_OPEN] = {"do_filp_open"},
	[FILE_FSYNC] = {"__x64_sys_fsync", "__x64_sys_fdatasync", "__ia32_sys_fsync",
			"__ia32_sys_fdatasync", "__arm64_sys_fsync", "__arm64_sys_fdatasync"},
	[FILE_SYNC_RANGE] = {"sync_file_range"},
	[FILE_MMAP] = {"vm_mmap_pgoff"},
	[FILE_SENDFILE] = {"do_splice_direct"},
	[FILE_SPLICE] = {"do_splice"},
	[FILE_COPY_RANGE] = {"vfs_copy_file_range"},
	[FILE_IO_SUBMIT] = {"__x64_sys_io_submit", "__arm64_sys_io_submit"},
	[FILE_MSYNC] = {"__x64_sys_msync", "__arm64_sys_msync"},
	[FILE_TRUNCATE] = {"__x64_sys_truncate", "__x64_sys_ftruncate", "__arm64_sys_truncate",
			   "__arm64_sys_ftruncate"},
	[FILE_ALLOCATE] = {"__x64_sys_fallocate", "__arm64_sys_fallocate"},
	/* The kernel's types have the second one so on x86_64. */
	[FILE_SYNC_ALL] = {"__x64_sys_sync", "__do_sys_sync", "__x64_sys_syncfs",
			   "__arm64_sys_sync", "__arm64_sys_syncfs"},
};

static uint32_t op_of(const char *name)
{
	char plain[64]; /* without what the compiler has appended */

	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(name, "."), name);
	for (uint32_t op = 0; op < FILE_CALLS; op++)
		for (const char *const *f = functions[op]; f < functions[op + 1] && *f; f++)
			if (plumb_is_named(plain, *f))
				return op;
	return FILE_CALLS;
}

static void describe(struct plumb_function *f, __u32 *op)
{
	*op = op_of(f->name);
	/* It returns an address, unsigned, or an error. */
	if (*op == FILE_MMAP)
		f->result = PLUMB_RESULT_LONG;
}

/* Operations that AIO has, too. */
#define AIO_OPS (1U << FILE_READ | 1U << FILE_WRITE | 1U << FILE_FSYNC)

static bool is_selected(uint32_t ops, uint32_t op)
{
	if (op == FILE_IO_SUBMIT)
		return ops & AIO_OPS;
	return op < FILE_OPS ? ops >> op & 1 : ops == (1U << FILE_OPS) - 1;
}

static int find_functions(const struct btf *btf, const char *file, struct file_hooks *hooks)
{
	const char *patterns[sizeof(functions) / sizeof(functions[0][0])];
	size_t n = 0;
	int err;

	for (uint32_t op = 0; op < FILE_CALLS; op++) {
		if (!is_selected(hooks->config.ops, op) || (op == FILE_IO_SUBMIT && hooks->has_aio))
			continue;
		for (const char *const *f = functions[op]; f < functions[op + 1] && *f; f++)
			if (plumb_btf_function(btf, *f))
				patterns[n++] = *f;
	}
	if (!n)
		return plumb_error(EOPNOTSUPP, "the kernel's types have none of the functions");
	err = plumb_functions_find(patterns, n, file, &hooks->functions);
	if (!err && hooks->functions.n > FILE_TARGETS)
		err = plumb_error(E2BIG, "%zu functions", hooks->functions.n);
	for (size_t i = 0; i < hooks->functions.n && !err; i++)
		describe(&hooks->functions.all[i], &hooks->config.targets[i]);
	return err;
}

/* ---- system calls ---- */

static const char *const calls[FILE_CALLS][6] = {
	[FILE_READ] = {"read", "readv", "pread64", "preadv", "preadv2"},
	[FILE_WRITE] = {"write", "writev", "pwrite64", "pwritev", "pwritev2"},
	[FILE_OPEN] = {"open", "openat", "openat2", "creat"},
	[FILE_FSYNC] = {"fsync", "fdatasync"},
	[FILE_SYNC_RANGE] = {"sync_file_range", "sync_file_range2"},
	[FILE_MMAP] = {"mmap", "mmap2"},
	[FILE_SENDFILE] = {"sendfile", "sendfile64"},
	[FILE_SPLICE] = {"splice"},
	[FILE_COPY_RANGE] = {"copy_file_range"},
	[FILE_IO_SUBMIT] = {"io_submit"},
	[FILE_MSYNC] = {"msync"},
	[FILE_TRUNCATE] = {"truncate", "truncate64", "ftruncate", "ftruncate64"},
	[FILE_ALLOCATE] = {"fallocate"},
	[FILE_SYNC_ALL] = {"sync", "syncfs"},
};

static void find_calls(struct file_config *config)
{
	const int packed = plumb_syscall_number("mmap", PLUMB_ABI_COMPAT);

	for (uint32_t op = 0; op < FILE_CALLS; op++)
		if (is_selected(config->ops, op))
			plumb_syscalls_are(config->calls, calls[op], op);
	/* The first mmap of 32-bit calls has its arguments in a structure. */
	if (packed >= 0)
		config->calls[PLUMB_SYSCALLS + packed] = 0;
}

/* ---- io_uring ---- */

static bool is_pointer(const struct btf *btf, const struct btf_type *f, int argument)
{
	return argument + 1 < btf_vlen(f) &&
	       btf_is_ptr(btf__type_by_id(btf, btf_params(f)[argument + 1].type));
}

static enum uring_end end_of(const struct btf *btf, const struct btf_type *f)
{
	if (!is_pointer(btf, f, 1))
		return URING_END_USER_DATA;
	return is_pointer(btf, f, 2) ? URING_END_CQE : URING_END_REQUEST;
}

/* Operations that io_uring has, too. */
#define URING_OPS                                                                                  \
	(1U << FILE_READ | 1U << FILE_WRITE | 1U << FILE_OPEN | 1U << FILE_FSYNC |                 \
	 1U << FILE_SYNC_RANGE | 1U << FILE_SPLICE)

static void find_uring(const struct btf *btf, struct file_hooks *hooks)
{
	const struct btf_type *end = plumb_tracepoint_prototype(btf, "io_uring_complete"),
			      *begin = plumb_tracepoint_prototype(btf, "io_uring_submit_req");

	if (!begin || !end || !(hooks->config.ops & URING_OPS))
		return;
	hooks->config.uring_end = end_of(btf, end);
	snprintf(hooks->submits, sizeof(hooks->submits), "%s",
		 plumb_btf_tracepoint(btf, "io_uring_submit_req"));
	/* (ring, request, opcode, ...) on 5.10 */
	hooks->config.uring_begin = btf_vlen(begin) > 4;
}

/* ---- AIO ---- */

static bool find_aio(const struct btf *btf, uint32_t ops)
{
	static const char *const names[] = {"aio_read", "aio_write", "aio_fsync", "aio_complete"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (btf__find_by_name_kind(btf, names[i], BTF_KIND_FUNC) < 0)
			return false;
	return ops & AIO_OPS;
}

/* ---- */

int file_hooks_find(const char *file, uint32_t ops, struct file_hooks *hooks)
{
	struct btf *btf = plumb_types_get(file);
	int err;

	if (!btf)
		return -EOPNOTSUPP;
	hooks->config.ops = ops;
	find_calls(&hooks->config);
	find_uring(btf, hooks);
	hooks->has_aio = find_aio(btf, ops);
	hooks->config.casts = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	err = find_functions(btf, file, hooks);
	plumb_kernel_btf_put(btf);
	return err;
}
