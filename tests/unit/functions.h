/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* functions: a kernel's lists as a test writes them, and what is found in them. */
#pragma once

#include "unit.h"
#include "said.h"
#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/lists.h>
#include <plumb/functions/probe.h>

#include <bpf/btf.h>

#pragma GCC diagnostic ignored "-Wunused-function" /* no test needs all */
#pragma GCC diagnostic ignored "-Wunused-const-variable"

#define KALLSYMS  "/proc/kallsyms"
#define VMLINUX   "/sys/kernel/btf/vmlinux"
#define TRACEABLE "/sys/kernel/tracing/available_filter_functions"
#define BLACKLIST "/sys/kernel/debug/kprobes/blacklist"

static char root[64];
static const char *heard;
static struct plumb_functions found;

static void make_directories(const char *path)
{
	char part[256];

	for (const char *p = path + 1; (p = strchr(p, '/')); p++) {
		snprintf(part, sizeof(part), "%s%.*s", root, (int)(p - path), path);
		assert_true(!mkdir(part, 0700) || errno == EEXIST);
	}
}

static void write_file(const char *path, const void *data, size_t size)
{
	char name[256];
	FILE *f;

	make_directories(path);
	snprintf(name, sizeof(name), "%s%s", root, path);
	f = fopen(name, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *ftw)
{
	(void)s, (void)type, (void)ftw;
	return remove(path);
}

static int begin(void **state)
{
	snprintf(root, sizeof(root), "%s/functions.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	plumb_functions_root = mkdtemp(root);
	return !plumb_functions_root;
}

static int end(void **state)
{
	plumb_functions_free(&found);
	plumb_functions_root = "";
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* plumb_functions_find() into FOUND, what it says into HEARD. */
static int find_with(const char *btf_file, const char *const *patterns, size_t n)
{
	int err;

	plumb_functions_free(&found);
	listen_to_stderr();
	err = plumb_functions_find(patterns, n, btf_file, &found);
	heard = said();
	return err;
}

#define find(...)                                                                                  \
	find_with(NULL, (const char *const[]){__VA_ARGS__},                                        \
		  LENGTH(((const char *const[]){__VA_ARGS__})))

/* The names found, in their order. */
static void expect(const char *names)
{
	static char all[4096];
	size_t length = 0;

	*all = 0;
	for (size_t i = 0; i < found.n; i++)
		length += snprintf(all + length, sizeof(all) - length, "%s%s", i ? " " : "",
				   found.all[i].name);
	assert_string_equal(all, names);
}

static void expect_said(const char *words)
{
	check(strstr(heard, words), "not said: %s; but: %s", words, heard);
}

static const struct plumb_function *function(const char *name)
{
	for (size_t i = 0; i < found.n; i++)
		if (!strcmp(found.all[i].name, name))
			return &found.all[i];
	fail_msg("not found: %s", name);
	return NULL;
}

static int argument(const char *name, const char *text, struct plumb_argument *a)
{
	int err;

	*a = (struct plumb_argument){99, 99, true, true};
	listen_to_stderr();
	err = plumb_function_argument(function(name), text, a);
	heard = said();
	assert_true(!err == !*heard);
	return err;
}

static void expect_argument(const char *name, const char *text, unsigned int index,
			    unsigned int bits, bool is_signed)
{
	struct plumb_argument a;
	int err = argument(name, text, &a);

	check(!err, "%s %s: %d: %s", name, text, err, heard);
	check(a.index == index && a.bits == bits && a.is_signed == is_signed, "%s %s: %u %u %d",
	      name, text, a.index, a.bits, a.is_signed);
}

static const char kernel[] = "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000100 T vfs_read\n"
			     "ffffffff81000200 t vfs_readv\n"
			     "ffffffff81000300 W weak_one\n"
			     "ffffffff81000400 w weak_two\n"
			     "ffffffff81000500 t twin\n"
			     "ffffffff81000600 t twin\n"
			     "ffffffff81000700 t twin\n"
			     "ffffffff81000800 t pared.isra.0\n"
			     "ffffffff81000900 t pared.constprop.0.isra.0\n"
			     "ffffffff81000a00 t pared.isra.0.cold\n"
			     "ffffffff81000b00 t frozen.cold\n"
			     "ffffffff81000c00 t whole\n"
			     "ffffffff81000d00 t whole.cold\n"
			     "ffffffff81000e00 t whole.part.0\n"
			     "ffffffff81000f00 t risen.llvm.1234567890\n"
			     "ffffffff81001000 t risen_cold.llvm.12.cold\n"
			     "ffffffff81001100 T alias_a\n"
			     "ffffffff81001100 T alias_b\n"
			     "ffffffff81001200 t .Llabel\n"
			     "ffffffff81001300 t __pfx_vfs_read\n"
			     "ffffffff81001310 t __cfi_vfs_read\n"
			     "ffffffff81001320 t __SCT__vfs_x\n"
			     "ffffffff81001330 t __SCK__vfs_x\n"
			     "ffffffff81001340 t __bpf_prog_enter_x\n"
			     "ffffffff81001350 t __bpf_prog_exit_x\n"
			     "ffffffff81001360 t __ftrace_invalid_address___7\n"
			     "ffffffff81001e00 t old.cold.17\n"
			     "ffffffff81001f00 D vfs_table\n"
			     "ffffffff81002000 T _etext\n"
			     "ffffffff81003000 D vfs_data\n"
			     "ffffffff81004000 T vfs_boot\n"
			     "ffffffffc0000100 t vfs_mod\t[mod]\n"
			     "ffffffffc0000200 t vfs_read\t[mod]\n"
			     "ffffffffc0000300 T other_fn\t[other]\n"
			     "ffffffffc0000400 t bpf_prog_6deef7357e7b4530_vfs\t[bpf]\n"
			     "ffffffffc0000500 t ftrace_trampoline\t[__builtin__ftrace]\n"
			     "ffffffffc0000600 t kprobe_insn_page\t[__builtin__kprobes]\n";

#define fixture(test) cmocka_unit_test_setup_teardown(test, begin, end)

static int release(void **state)
{
	plumb_functions_free(&found);
	return 0;
}
