/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/kernel/renamed.h>
#include <plumb/kernel/types.h>
#include <plumb/syscalls/syscalls.h>

#include <bpf/btf.h>

/* ---- functions ---- */

#define UNTIMED(sys)                                                                               \
	{sys "io_submit", FILE_IO_SUBMIT}, {sys "msync", FILE_MSYNC},                              \
		{sys "truncate", FILE_TRUNCATE}, {sys "ftruncate", FILE_TRUNCATE},                 \
		{sys "fallocate", FILE_ALLOCATE}, {sys "sync", FILE_SYNC_ALL},                     \
	{                                                                                          \
		sys "syncfs", FILE_SYNC_ALL                                                        \
	}

static const struct {
	const char *name;
	uint32_t op; /* enum file_op or file_untimed */
} functions[] = {
	{"vfs_read", FILE_READ},
	{"vfs_readv", FILE_READ},
	{"vfs_write", FILE_WRITE},
	{"vfs_writev", FILE_WRITE},
	{"do_filp_open", FILE_OPEN},
	{"__x64_sys_fsync", FILE_FSYNC},
	{"__x64_sys_fdatasync", FILE_FSYNC},
	{"__ia32_sys_fsync", FILE_FSYNC},
	{"__ia32_sys_fdatasync", FILE_FSYNC},
	{"__arm64_sys_fsync", FILE_FSYNC},
	{"__arm64_sys_fdatasync", FILE_FSYNC},
	{"sync_file_range", FILE_SYNC_RANGE},
	{"vm_mmap_pgoff", FILE_MMAP},
	{"do_splice_direct", FILE_SENDFILE},
	{"do_splice", FILE_SPLICE},
	{"vfs_copy_file_range", FILE_COPY_RANGE},
	UNTIMED("__x64_sys_"),
	{"__do_sys_sync", FILE_SYNC_ALL}, /* the kernel's types have it so on x86_64 */
	UNTIMED("__arm64_sys_"),
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))
_Static_assert(N_FUNCTIONS <= FILE_TARGETS, "each function has an operation");

static uint32_t op_of(const char *name)
{
	char plain[64]; /* without what the compiler has appended */

	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(name, "."), name);
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		if (plumb_is_named(plain, functions[i].name))
			return functions[i].op;
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
	const char *patterns[N_FUNCTIONS];
	size_t n = 0;
	int err;

	for (size_t i = 0; i < N_FUNCTIONS; i++)
		if (is_selected(hooks->config.ops, functions[i].op) &&
		    !(functions[i].op == FILE_IO_SUBMIT && hooks->has_aio) &&
		    plumb_btf_function(btf, functions[i].name))
			patterns[n++] = functions[i].name;
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

static const struct {
	const char *name;
	uint32_t op; /* enum file_op or file_untimed */
} calls[] = {
	{"read", FILE_READ},
	{"readv", FILE_READ},
	{"pread64", FILE_READ},
	{"preadv", FILE_READ},
	{"preadv2", FILE_READ},
	{"write", FILE_WRITE},
	{"writev", FILE_WRITE},
	{"pwrite64", FILE_WRITE},
	{"pwritev", FILE_WRITE},
	{"pwritev2", FILE_WRITE},
	{"open", FILE_OPEN},
	{"openat", FILE_OPEN},
	{"openat2", FILE_OPEN},
	{"creat", FILE_OPEN},
	{"fsync", FILE_FSYNC},
	{"fdatasync", FILE_FSYNC},
	{"sync_file_range", FILE_SYNC_RANGE},
	{"sync_file_range2", FILE_SYNC_RANGE},
	{"mmap", FILE_MMAP},
	{"mmap2", FILE_MMAP},
	{"sendfile", FILE_SENDFILE},
	{"sendfile64", FILE_SENDFILE},
	{"splice", FILE_SPLICE},
	{"copy_file_range", FILE_COPY_RANGE},
	{"io_submit", FILE_IO_SUBMIT},
	{"msync", FILE_MSYNC},
	{"truncate", FILE_TRUNCATE},
	{"truncate64", FILE_TRUNCATE},
	{"ftruncate", FILE_TRUNCATE},
	{"ftruncate64", FILE_TRUNCATE},
	{"fallocate", FILE_ALLOCATE},
	{"sync", FILE_SYNC_ALL},
	{"syncfs", FILE_SYNC_ALL},
};

static void find_calls(struct file_config *config)
{
	int nr;

	for (uint32_t abi = 0; abi < 2; abi++)
		for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
			/* The first mmap of 32-bit calls has its arguments in a structure. */
			if (abi && !strcmp(calls[i].name, "mmap"))
				continue;
			nr = plumb_syscall_number(calls[i].name, abi);
			if (nr >= 0 && nr < PLUMB_SYSCALLS && is_selected(config->ops, calls[i].op))
				config->calls[abi * PLUMB_SYSCALLS + nr] = 1 + calls[i].op;
		}
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
	struct btf *btf = file ? btf__parse(file, NULL) : plumb_kernel_btf_get();
	int err;

	if (!btf)
		return plumb_error(EOPNOTSUPP, "the kernel's types cannot be read: %s",
				   file ?: "/sys/kernel/btf/vmlinux");
	hooks->config.ops = ops;
	find_calls(&hooks->config);
	find_uring(btf, hooks);
	hooks->has_aio = find_aio(btf, ops);
	hooks->config.casts = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	err = find_functions(btf, file, hooks);
	if (file)
		btf__free(btf);
	else
		plumb_kernel_btf_put(btf);
	return err;
}
