// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* functions: which a name stands for, what is said of them, and what BTF tells; then live ones. */
#include "unit.h"
#include "said.h"
#include <plumb/kernel/lists.h>
#include <errno.h>
#include <ftw.h>
#include <plumb/kernel/functions.h>
#include <plumb/attach/probe.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/btf.h>

#define KALLSYMS  "/proc/kallsyms"
#define VMLINUX   "/sys/kernel/btf/vmlinux"
#define TRACEABLE "/sys/kernel/tracing/available_filter_functions"
#define BLACKLIST "/sys/kernel/debug/kprobes/blacklist"

static char root[64];
static const char *heard;
static struct plumb_functions found;

/* --- a kernel's lists --- */

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
	(void)state;
	snprintf(root, sizeof(root), "%s/functions.XXXXXX", getenv("TMPDIR") ?: "/tmp");
	plumb_functions_root = mkdtemp(root);
	return !plumb_functions_root;
}

static int end(void **state)
{
	(void)state;
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

/* --- which functions --- */

static void a_name_is_a_function(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_readv"), 0);
	expect("vfs_readv");
	assert_string_equal(heard, "");
	assert_null(found.all[0].module);
	assert_int_equal(found.all[0].address, 0xffffffff81000200);
	assert_false(found.all[0].changed || found.all[0].cold || found.all[0].ambiguous ||
		     found.all[0].untraced || found.all[0].blacklisted);
	assert_null(plumb_function_obstacle(&found.all[0]));
	assert_int_equal(find("weak_two", "weak_one"), 0);
	expect("weak_two weak_one");
	/* The name alone, though a part was split off. */
	assert_int_equal(find("whole"), 0);
	expect("whole");
	assert_false(found.all[0].changed);
}

static void data_is_no_function(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_data"), -ENOENT);
	assert_int_equal(find("vfs_table"), -ENOENT);
	assert_int_equal(find("fixed_percpu_data"), -ENOENT);
	assert_int_equal(found.n, 0);
}

static void namesakes_are_all_taken(void **state)
{
	static const char *const names[] = {"twin,1", "twin,2", "twin,3"};
	char name[64];

	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("twin"), 0);
	expect("twin twin twin");
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(found.all[i].address, 0xffffffff81000500 + i * 0x100);
		assert_true(found.all[i].ambiguous && found.all[i].named);
		assert_string_equal(plumb_probe_name(&found, i, name, sizeof(name)), names[i]);
	}
	expect_said("3 functions are called twin: all are traced\n");
	/* In the kernel and in a module: two, but each has BTF of its own. */
	assert_int_equal(find("vfs_read"), 0);
	expect("vfs_read vfs_read");
	assert_null(found.all[0].module);
	assert_string_equal(found.all[1].module, "mod");
	assert_string_equal(plumb_probe_name(&found, 1, name, sizeof(name)), "mod:vfs_read");
	assert_false(found.all[0].ambiguous || found.all[1].ambiguous);
	expect_said("2 functions are called vfs_read: all are traced\n");
}

static void namesakes_without_address_are_one(void **state)
{
	(void)state;
	write_text(KALLSYMS, "0000000000000000 T _stext\n0000000000000000 t twin\n"
			     "0000000000000000 t twin\n0000000000000000 t single\n"
			     "0000000000000000 T _etext\n");
	assert_int_equal(find("single", "twin", "twin"), 0);
	expect("single twin");
	assert_int_equal(found.all[1].address, 0);
	assert_true(found.all[1].ambiguous && !found.all[1].place);
	assert_false(found.all[0].ambiguous);
	expect_said("2 functions are called twin, and their addresses are hidden");
}

static void what_the_compiler_made_of_a_name_is_taken(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("pared"), 0);
	expect("pared.constprop.0.isra.0 pared.isra.0");
	for (size_t i = 0; i < 2; i++)
		assert_true(found.all[i].changed && !found.all[i].cold);
	expect_said("pared.isra.0: the compiler changed its signature, "
		    "arguments are not trusted\n");
	expect_said("pared.constprop.0.isra.0: the compiler changed its signature, "
		    "arguments are not trusted\n");
	assert_int_equal(find("pared.isra.0"), 0);
	expect("pared.isra.0");
	assert_true(found.all[0].changed);
	expect_said("pared.isra.0: ");
	/* A name that it begins with is another. */
	assert_int_equal(find("par"), -ENOENT);
}

static void cold_parts_are_taken_only_if_there_is_nothing_else(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("frozen"), 0);
	expect("frozen.cold");
	assert_true(found.all[0].cold && found.all[0].changed);
	expect_said("frozen.cold: a part of frozen that is jumped to");
	assert_null(strstr(heard, "signature"));
	assert_int_equal(find("risen_cold", "old"), 0);
	assert_true(found.all[0].cold && found.all[1].cold);
}

static void a_renamed_static_is_trusted(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("risen"), 0);
	expect("risen.llvm.1234567890");
	assert_false(found.all[0].changed);
	assert_string_equal(heard, "");
	assert_true(plumb_suffix_is_harmless("foo"));
	assert_true(plumb_suffix_is_harmless("foo.lto_priv.0"));
	assert_false(plumb_suffix_is_harmless("foo.llvm."));
	assert_false(plumb_suffix_is_harmless("foo.llvm.12.isra.0"));
	assert_false(plumb_suffix_is_harmless("foo.isra.0.llvm.12"));
	assert_false(plumb_suffix_is_harmless("foo.part.0"));
	assert_false(plumb_suffix_is_harmless("foo.unheard_of"));
}

static void an_address_is_taken_once(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_readv", "vfs_r*", "vfs_readv"), 0);
	expect("vfs_readv vfs_read vfs_read");
	assert_int_equal(find("alias_b", "alias_*"), 0);
	expect("alias_b");
	assert_int_equal(find("alias_*"), 0);
	expect("alias_a");
	/* Symbols of a module are in no order. */
	write_text(KALLSYMS, "ffffffffc0000100 t dummy_exit\t[dummy]\n"
			     "ffffffffc0000200 t dummy_xmit\t[dummy]\n"
			     "ffffffffc0000100 t cleanup_module\t[dummy]\n");
	assert_int_equal(find("dummy:*"), 0);
	expect("cleanup_module dummy_xmit");
}

/* --- globs --- */

static void globs_match_names_as_sources_have_them(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_*"), 0);
	expect("vfs_mod vfs_read vfs_read vfs_readv");
	expect_said("vfs_*: names of several functions each: 1; all are traced\n");
	assert_int_equal(find("vfs_rea?"), 0);
	expect("vfs_read vfs_read");
	assert_int_equal(find("p?red"), 0);
	expect("pared.constprop.0.isra.0 pared.isra.0");
	expect_said("p?red: functions whose signature the compiler changed: 2; ");
	assert_null(strstr(heard, "isra"));
	assert_true(found.all[0].changed);
	assert_int_equal(find("w[h]ole"), 0);
	expect("whole whole.part.0");
	assert_int_equal(find("*n"), 0);
	expect("other_fn risen.llvm.1234567890 twin twin twin");
	assert_true(found.all[2].ambiguous && found.all[2].place == 1);
	assert_false(found.all[2].named);
	/* With a dot: whole names. */
	assert_int_equal(find("*.isra.*"), 0);
	expect("pared.constprop.0.isra.0 pared.isra.0");
	assert_int_equal(find("pared.i*"), 0);
	expect("pared.isra.0");
}

static void globs_leave_out_what_is_no_function(void **state)
{
	static const char *const never[] = {
		"frozen.cold",        "whole.cold",     "pared.isra.0.cold",
		"__pfx_vfs_read",     "__cfi_vfs_read", "__SCT__vfs_x",
		"__SCK__vfs_x",       ".Llabel",        "__ftrace_invalid_address___7",
		"__bpf_prog_enter_x", "vfs_boot",       "bpf_prog_6deef7357e7b4530_vfs",
		"__bpf_prog_exit_x",  "vfs_data",       "ftrace_trampoline",
		"kprobe_insn_page",   "_etext",
	};

	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("*"), 0);
	for (size_t i = 0; i < found.n; i++)
		for (size_t j = 0; j < LENGTH(never); j++)
			check(strcmp(found.all[i].name, never[j]), "%s is taken", never[j]);
	/* _stext vfs_read×2 vfs_readv weak×2 twin×3 pared×2 whole×2 risen alias vfs_mod other_fn */
	assert_int_equal(found.n, 17);
	assert_int_equal(find("__pfx_*"), -ENOENT);
	assert_int_equal(find("froze*"), -ENOENT);
	expect_said("no function's name matches froze*\n");
	assert_int_equal(find("vfs_b*"), -ENOENT);
	expect_said("no function that can be traced matches vfs_b*\n");
}

/* --- modules --- */

static void modules_can_be_named(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("mod:vfs_read"), 0);
	expect("vfs_read");
	assert_string_equal(found.all[0].module, "mod");
	assert_string_equal(heard, "");
	assert_int_equal(find("vmlinux:vfs_read"), 0);
	expect("vfs_read");
	assert_null(found.all[0].module);
	assert_int_equal(find("mod:*"), 0);
	expect("vfs_mod vfs_read");
	assert_int_equal(find("other:vfs_read"), -ENOENT);
	expect_said("no such function: other:vfs_read\n");
	assert_int_equal(find("absent:vfs_read"), -ENOENT);
	expect_said("module absent is not loaded (what is built in: vmlinux:vfs_read)\n");
	/* A colon in a glob names no module. */
	assert_int_equal(find("[[:lower:]]fs_readv"), 0);
	expect("vfs_readv");
}

/* --- what can be traced --- */

static void globs_take_what_ftrace_knows(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	write_text(TRACEABLE, "vfs_read\npared.isra.0\nalias_b\nvfs_mod [mod]\n");
	assert_int_equal(find("*"), 0);
	expect("alias_a pared.isra.0 vfs_mod vfs_read vfs_read");
	for (size_t i = 0; i < found.n; i++)
		assert_false(found.all[i].untraced);
	assert_int_equal(find("tw*"), -ENOENT);
	expect_said("no function that can be traced matches tw*\n");
	/* A name that is asked for is found; nothing but a kprobe may hold. */
	assert_int_equal(find("vfs_readv", "alias_a"), 0);
	expect("vfs_readv alias_a");
	assert_true(found.all[0].untraced);
	assert_false(found.all[1].untraced);
	assert_non_null(strstr(plumb_function_obstacle(&found.all[0]), "notrace"));
}

static void an_empty_list_says_nothing(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	write_text(TRACEABLE, "");
	assert_int_equal(find("vfs_readv", "weak*"), 0);
	expect("vfs_readv weak_one weak_two");
	assert_false(found.all[0].untraced);
}

static void debugfs_has_the_list_too(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	write_text("/sys/kernel/debug/tracing/available_filter_functions", "weak_two\n");
	assert_int_equal(find("weak*"), 0);
	expect("weak_two");
}

static void the_blacklist_is_an_error_where_nothing_else_can_hold(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	write_text(TRACEABLE, "vfs_read\ntwin\n");
	write_text(BLACKLIST, "0xffffffff81000200-0xffffffff81000300\tvfs_readv\n"
			      "0xffffffff81000100-0xffffffff81000108\tvfs_read\n"
			      "0xffffffff81000600-0xffffffff81000700\ttwin\n");
	assert_int_equal(find("vfs_readv"), -EINVAL);
	expect_said("vfs_readv is on the kernel's kprobe blacklist\n");
	assert_int_equal(found.n, 0);
	/* fentry still may. */
	assert_int_equal(find("vmlinux:vfs_read"), 0);
	assert_true(found.all[0].blacklisted);
	assert_string_equal(plumb_function_obstacle(&found.all[0]),
			    "is on the kernel's kprobe blacklist");
	/* Its namesakes are not on it. */
	assert_int_equal(find("twin"), 0);
	assert_int_equal(found.n, 3);
	assert_false(found.all[0].blacklisted);
	assert_true(found.all[1].blacklisted);
	assert_false(found.all[2].blacklisted);
}

static void the_blacklist_without_addresses_goes_by_name(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	write_text(BLACKLIST,
		   "0x0-0x0\tvfs_readv\nrubbish\n0x0000000000000000-0x0\tvfs_mod [mod]\n");
	assert_int_equal(find("vfs_readv"), 0);
	assert_true(found.all[0].blacklisted);
	/* A glob has no need of what kprobes refuse and ftrace is not known to have. */
	assert_int_equal(find("vfs_r*", "mod:*"), 0);
	expect("vfs_read vfs_read");
}

static void code_of_the_boot_is_gone(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_boot"), -ENOENT);
	expect_said("vfs_boot is gone: it was for the kernel's boot only\n");
}

/* --- what is missing --- */

static void what_was_meant_is_offered(void **state)
{
	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_raed"), -ENOENT);
	expect_said("no such function: vfs_raed; did you mean vfs_read, vfs_readv or vfs_mod?\n");
	assert_int_equal(find("paerd"), -ENOENT);
	expect_said("; did you mean pared?\n");
	/* Neither what is gone nor what is no function. */
	assert_int_equal(find("vfs_bot"), -ENOENT);
	assert_null(strstr(heard, "vfs_boot"));
	assert_int_equal(find("vfs_read", "nothing_like_it"), -ENOENT);
	expect_said("no such function: nothing_like_it\n");
	assert_int_equal(found.n, 0);
	assert_null(found.all);
	assert_int_equal(find(""), -ENOENT);
}

static void no_list_of_symbols_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(find("vfs_read"), -ENOENT);
	expect_said(KALLSYMS);
}

static void odd_lines_are_passed_over(void **state)
{
	(void)state;
	write_text(KALLSYMS, "\n \nrubbish\nffffffff81000000\nffffffff81000000 T\n"
			     "ffffffff81000010 T \nffffffff81000000 T one\t\n"
			     "ffffffff81000020 t two\t[m]\nffffffff81000030 t three");
	assert_int_equal(find("two", "three"), 0);
	expect("two three");
	assert_string_equal(found.all[0].module, "m");
	assert_int_equal(find("one"), -ENOENT);
}

/* In CPU time, of this thread. */
static double ms_to_find(const char *name, int result)
{
	struct timespec before, after;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	assert_int_equal(find(name), result);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	return (after.tv_sec - before.tv_sec) * 1e3 + (after.tv_nsec - before.tv_nsec) / 1e6;
}

/* Searching for what was meant costs no more than a few readings of the list, on any host. */
static void a_slip_among_200000_names_is_found_at_once(void **state)
{
	size_t size = 200000 * 64, n = 0;
	char *text = malloc(size);
	double hit, slip;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < 200000; i++)
		n += snprintf(text + n, size - n, "ffffffff8%07zx t %s_%s_%zu\n", i * 16,
			      i % 3 ? "tcp" : "sched", i % 2 ? "sendmsg" : "receive_queue", i);
	write_file(KALLSYMS, text, n);
	free(text);
	hit = ms_to_find("tcp_sendmsg_77777", 0);
	slip = ms_to_find("tcp_senmdsg_77777", -ENOENT);
	expect_said("; did you mean tcp_sendmsg_77777, ");
	print_message("# %.0f ms, and %.0f where it is missing\n", hit, slip);
	assert_true(slip < 15 * hit);
}

/* --- types --- */

struct types {
	struct btf *btf;
	int s32, u32, s64, u64, s16, boolean, u128, real, pointer, choice, small, large;
	int ssize, error; /* a typedef of a const typedef of s64, one of s32 */
};

static void write_btf(const char *path, const struct btf *btf)
{
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);

	assert_non_null(data);
	write_file(path, data, size);
}

static void make_types(struct types *t)
{
	int id;

	t->btf = btf__new_empty();
	assert_non_null(t->btf);
	t->s32 = btf__add_int(t->btf, "int", 4, BTF_INT_SIGNED);
	t->u32 = btf__add_int(t->btf, "unsigned int", 4, 0);
	t->s64 = btf__add_int(t->btf, "long", 8, BTF_INT_SIGNED);
	t->u64 = btf__add_int(t->btf, "unsigned long", 8, 0);
	t->s16 = btf__add_int(t->btf, "short", 2, BTF_INT_SIGNED);
	t->boolean = btf__add_int(t->btf, "_Bool", 1, BTF_INT_BOOL);
	t->u128 = btf__add_int(t->btf, "unsigned __int128", 16, 0);
	t->real = btf__add_float(t->btf, "double", 8);
	t->pointer = btf__add_ptr(t->btf, 0);
	t->choice = btf__add_enum(t->btf, "choice", 4);
	assert_int_equal(btf__add_enum_value(t->btf, "ONE", 1), 0);
	t->small = btf__add_struct(t->btf, "kuid_t", 4);
	assert_int_equal(btf__add_field(t->btf, "val", t->u32, 0, 0), 0);
	t->large = btf__add_struct(t->btf, "large", 16);
	id = btf__add_typedef(t->btf, "__kernel_ssize_t", t->s64);
	t->ssize = btf__add_typedef(t->btf, "ssize_t", btf__add_const(t->btf, id));
	t->error = btf__add_volatile(t->btf, btf__add_typedef(t->btf, "s32", t->s32));
	assert_true(t->error > 0);
}

/* A function of up to eight parameters, p0 to p7; a type of -1 is "...". */
static int add_function(struct btf *btf, const char *name, int result, const int *params, size_t n)
{
	int proto = btf__add_func_proto(btf, result), id;
	char param[8];

	assert_true(proto > 0);
	for (size_t i = 0; i < n; i++) {
		snprintf(param, sizeof(param), "p%zu", i);
		assert_int_equal(btf__add_func_param(btf, params[i] < 0 ? "" : param,
						     params[i] < 0 ? 0 : params[i]),
				 0);
	}
	id = btf__add_func(btf, name, BTF_FUNC_STATIC, proto);
	assert_true(id > 0);
	return id;
}

static void results_tell_of_errors_by_their_type(void **state)
{
	struct types t;

	(void)state;
	make_types(&t);
	const struct {
		const char *name;
		int type;
		enum plumb_result result;
	} all[] = {
		{"f_void", 0, PLUMB_RESULT_NONE},
		{"f_int", t.s32, PLUMB_RESULT_INT},
		{"f_s32", t.error, PLUMB_RESULT_INT},
		{"f_u32", t.u32, PLUMB_RESULT_NONE},
		{"f_long", t.s64, PLUMB_RESULT_LONG},
		{"f_ssize", t.ssize, PLUMB_RESULT_LONG},
		{"f_ulong", t.u64, PLUMB_RESULT_NONE},
		{"f_short", t.s16, PLUMB_RESULT_NONE},
		{"f_bool", t.boolean, PLUMB_RESULT_NONE},
		{"f_pointer", t.pointer, PLUMB_RESULT_POINTER},
		{"f_enum", t.choice, PLUMB_RESULT_NONE},
		{"f_struct", t.small, PLUMB_RESULT_NONE},
	};
	char text[4096] = "";
	int ids[LENGTH(all)];

	for (size_t i = 0; i < LENGTH(all); i++) {
		ids[i] = add_function(t.btf, all[i].name, all[i].type, NULL, 0);
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "ffffffff8100%04zx t %s\n", i * 16, all[i].name);
	}
	write_text(KALLSYMS, text);
	write_btf(VMLINUX, t.btf);
	assert_int_equal(find("f_*"), 0);
	assert_int_equal(found.n, LENGTH(all));
	for (size_t i = 0; i < LENGTH(all); i++) {
		const struct plumb_function *f = function(all[i].name);

		check(f->result == all[i].result, "%s: %d", f->name, f->result);
		check(f->btf_id == (uint32_t)ids[i], "%s: %u, not %d", f->name, f->btf_id, ids[i]);
		assert_ptr_equal(f->btf, found.btf);
		assert_int_equal(f->btf_fd, 0);
	}
	btf__free(t.btf);
}

static void only_what_is_certain_has_a_prototype(void **state)
{
	struct types t;
	int id, read_id;

	(void)state;
	write_text(KALLSYMS, kernel);
	make_types(&t);
	read_id = add_function(t.btf, "vfs_read", t.ssize, NULL, 0);
	id = add_function(t.btf, "risen", t.s32, NULL, 0);
	add_function(t.btf, "twin", t.s32, NULL, 0);
	add_function(t.btf, "pared", t.s32, NULL, 0);
	add_function(t.btf, "frozen", t.s32, NULL, 0);
	add_function(t.btf, "vfs_readv", t.s32, NULL, 0);
	add_function(t.btf, "vfs_readv", t.s64, NULL, 0); /* which of the two? */
	add_function(t.btf, "weak", t.s32, NULL, 0);      /* a beginning of names */
	btf__add_func(t.btf, "weak_one", BTF_FUNC_STATIC, t.s32);
	write_btf(VMLINUX, t.btf);
	btf__free(t.btf);

	assert_int_equal(find("vmlinux:*", "frozen", "mod:vfs_read"), 0);
	assert_int_equal(function("risen.llvm.1234567890")->btf_id, id);
	assert_int_equal(function("risen.llvm.1234567890")->result, PLUMB_RESULT_INT);
	for (size_t i = 0; i < found.n; i++) {
		const struct plumb_function *f = &found.all[i];
		bool has = !strncmp(f->name, "risen", 5) ||
			   (!strcmp(f->name, "vfs_read") && !f->module);

		check(has == !!f->btf_id && has == !!f->btf, "%s: %u", f->name, f->btf_id);
		check(has || f->result == PLUMB_RESULT_NONE, "%s: %d", f->name, f->result);
		check(strcmp(f->name, "vfs_read") || f->module || f->btf_id == (uint32_t)read_id,
		      "%u, not %d", f->btf_id, read_id);
	}
}

static void modules_have_types_of_their_own(void **state)
{
	struct types t;
	struct btf *module;
	const int params[] = {1};
	int id;

	(void)state;
	write_text(KALLSYMS, kernel);
	make_types(&t);
	add_function(t.btf, "vfs_read", t.s32, NULL, 0);
	add_function(t.btf, "other_fn", t.s32, NULL, 0); /* not the module's */
	write_btf(VMLINUX, t.btf);
	module = btf__new_empty_split(t.btf);
	assert_non_null(module);
	id = add_function(module, "vfs_read", t.s64, params, 1);
	write_btf("/sys/kernel/btf/mod", module);
	btf__free(module);
	btf__free(t.btf);

	assert_int_equal(find("vfs_read", "mod:vfs_mod", "other:other_fn"), 0);
	expect("vfs_read vfs_read vfs_mod other_fn");
	assert_int_equal(found.all[0].result, PLUMB_RESULT_INT);
	assert_ptr_equal(found.all[0].btf, found.btf);
	assert_int_equal(found.all[1].result, PLUMB_RESULT_LONG);
	assert_int_equal(found.all[1].btf_id, id);
	assert_ptr_not_equal(found.all[1].btf, found.btf);
	assert_int_equal(found.all[1].btf_fd, -1); /* this module is in no kernel */
	assert_int_equal(found.all[2].btf_id, 0);
	assert_int_equal(found.all[3].btf_id, 0);
}

static void types_can_come_from_a_file(void **state)
{
	const char *const names[] = {"vfs_readv", "mod:vfs_mod"};
	struct btf *module;
	char file[128];
	struct types t;

	(void)state;
	write_text(KALLSYMS, kernel);
	make_types(&t);
	add_function(t.btf, "vfs_readv", t.s32, NULL, 0);
	write_btf("/elsewhere.btf", t.btf);
	module = btf__new_empty_split(t.btf);
	add_function(module, "vfs_mod", t.s32, NULL, 0);
	write_btf("/sys/kernel/btf/mod", module);
	btf__free(module);
	btf__free(t.btf);

	assert_int_equal(find("vfs_readv"), 0);
	assert_null(found.btf);
	assert_null(found.all[0].btf);
	assert_string_equal(heard, "");
	snprintf(file, sizeof(file), "%s/elsewhere.btf", root);
	assert_int_equal(find_with(file, names, 2), 0);
	assert_non_null(found.btf);
	assert_int_equal(found.all[0].result, PLUMB_RESULT_INT);
	assert_null(found.all[1].btf);
	snprintf(file, sizeof(file), "%s/nowhere.btf", root);
	assert_int_equal(find_with(file, names, 2), -ENOENT);
	expect_said("nowhere.btf");
	assert_int_equal(found.n, 0);
	write_text("/elsewhere.btf", "this is not BTF");
	snprintf(file, sizeof(file), "%s/elsewhere.btf", root);
	assert_true(find_with(file, names, 2) < 0);
	expect_said("elsewhere.btf");
}

/* --- arguments --- */

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

static void arguments_have_names_and_widths(void **state)
{
	struct plumb_argument a;
	struct types t;

	(void)state;
	write_text(KALLSYMS, kernel);
	make_types(&t);
	const int many[] = {t.s32, t.u32, t.ssize, t.boolean, t.pointer, t.choice, t.s16, t.small};
	const int wide[] = {t.small, t.u64, t.large, t.u64, t.u128, t.real};
	const int open[] = {t.pointer, -1};
	const int behind[] = {t.real, t.u64};

	add_function(t.btf, "vfs_readv", 0, many, LENGTH(many));
	add_function(t.btf, "weak_one", 0, wide, LENGTH(wide));
	add_function(t.btf, "weak_two", 0, open, LENGTH(open));
	add_function(t.btf, "alias_a", 0, NULL, 0);
	add_function(t.btf, "whole", 0, behind, LENGTH(behind));
	write_btf(VMLINUX, t.btf);
	btf__free(t.btf);
	assert_int_equal(find("vfs_readv", "weak_*", "alias_a", "whole"), 0);

	expect_argument("vfs_readv", "p0", 0, 32, true);
	expect_argument("vfs_readv", "p1", 1, 32, false);
	expect_argument("vfs_readv", "p2", 2, 64, true);
	expect_argument("vfs_readv", "p3", 3, 8, false);
	expect_argument("vfs_readv", "p4", 4, 64, false);
	expect_argument("vfs_readv", "p5", 5, 32, false);
	expect_argument("vfs_readv", "p6", 6, 16, true);
	expect_argument("vfs_readv", "0", 0, 32, true);
	expect_argument("vfs_readv", "6", 6, 16, true);
	assert_int_equal(argument("vfs_readv", "p7", &a), -ENOTSUP);
	assert_int_equal(argument("vfs_readv", "8", &a), -ENOENT);
	assert_int_equal(argument("vfs_readv", "size", &a), -ENOENT);
	expect_said("vfs_readv has no argument size (it has p0, p1, p2, p3, p4, p5, p6, p7)\n");
	assert_int_equal(argument("alias_a", "0", &a), -ENOENT);
	expect_said("alias_a has no argument 0 (it has none)\n");
	assert_int_equal(argument("vfs_readv", "", &a), -ENOENT);

	/* A struct of 4 bytes takes a register, one of 16 two or none. */
	expect_argument("weak_one", "p1", 1, 64, false);
	assert_int_equal(argument("weak_one", "p2", &a), -ENOTSUP);
	assert_int_equal(argument("weak_one", "p3", &a), -ENOTSUP);
	expect_said("argument 3 cannot be found, as argument 2 is not in one register\n");
	assert_int_equal(argument("weak_one", "p4", &a), -ENOTSUP);
	assert_int_equal(argument("weak_one", "p5", &a), -ENOTSUP);
	assert_int_equal(argument("whole", "p1", &a), -ENOTSUP);
	expect_argument("weak_two", "p0", 0, 64, false);
	assert_int_equal(argument("weak_two", "1", &a), -ENOENT);
	assert_int_equal(a.index, 99);
}

static void without_prototype_a_number_is_trusted(void **state)
{
	struct plumb_argument a;

	(void)state;
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_readv", "pared", "twin"), 0);
	expect_argument("vfs_readv", "0", 0, 64, false);
	expect_argument("pared.isra.0", "5", 5, 64, false);
	assert_int_equal(argument("vfs_readv", "6", &a), -ENOENT);
	assert_int_equal(argument("vfs_readv", "size", &a), -ENOTSUP);
	expect_said("no BTF describes it");
	assert_int_equal(argument("pared.isra.0", "size", &a), -ENOTSUP);
	expect_said("the compiler changed its signature");
	assert_int_equal(argument("twin", "size", &a), -ENOTSUP);
	expect_said("other functions have its name");
}

/* --- the running kernel --- */

static void live_tcp_sendmsg_is_as_it_is(void **state)
{
	const struct plumb_function *f;

	(void)state;
	if (access(KALLSYMS, R_OK))
		skip();
	assert_int_equal(find("tcp_sendmsg"), 0);
	expect("tcp_sendmsg");
	assert_string_equal(heard, "");
	f = &found.all[0];
	assert_null(f->module);
	assert_false(f->changed || f->cold || f->ambiguous || f->untraced || f->blacklisted);
	if (access(VMLINUX, R_OK))
		return;
	assert_int_equal(f->result, PLUMB_RESULT_INT);
	expect_argument("tcp_sendmsg", "sk", 0, 64, false);
	expect_argument("tcp_sendmsg", "msg", 1, 64, false);
	expect_argument("tcp_sendmsg", "size", 2, 64, false);
	expect_argument("tcp_sendmsg", "2", 2, 64, false);
}

static void live_globs_are_of_functions_that_are_there(void **state)
{
	size_t typed = 0;

	(void)state;
	if (access(KALLSYMS, R_OK))
		skip();
	assert_int_equal(find("vfs_*"), 0);
	check(found.n > 30, "%zu", found.n);
	for (size_t i = 0; i < found.n; i++) {
		const struct plumb_function *f = &found.all[i];

		assert_memory_equal(f->name, "vfs_", 4);
		assert_false(f->untraced || f->cold);
		assert_true(!f->btf == !f->btf_id);
		typed += !!f->btf;
		for (size_t j = 0; j < i && f->address; j++)
			assert_int_not_equal(f->address, found.all[j].address);
	}
	if (access(VMLINUX, R_OK))
		return;
	/* A few have no type: aliases, changed ones. */
	check(typed * 10 >= found.n * 8, "%zu of %zu have types", typed, found.n);
	assert_int_equal(function("vfs_read")->result, PLUMB_RESULT_LONG);
	expect_argument("vfs_read", "count", 2, 64, false);
	assert_int_equal(find("do_sys_open*"), 0);
	expect_argument("do_sys_openat2", "dfd", 0, 32, true);
}

static void live_finish_task_switch_is_found_whatever_became_of_it(void **state)
{
	(void)state;
	if (access(KALLSYMS, R_OK))
		skip();
	assert_int_equal(find("finish_task_switch"), 0);
	check(found.n == 1, "%zu", found.n);
	if (!strcmp(found.all[0].name, "finish_task_switch"))
		return;
	print_message("# %s\n", found.all[0].name);
	assert_true(found.all[0].changed);
	assert_int_equal(found.all[0].btf_id, 0);
	expect_said(": the compiler changed its signature, arguments are not trusted\n");
}

static void live_slips_are_understood(void **state)
{
	(void)state;
	if (access(KALLSYMS, R_OK))
		skip();
	assert_int_equal(find("tcp_sendmgs"), -ENOENT);
	expect_said("no such function: tcp_sendmgs; did you mean tcp_sendmsg");
	assert_int_equal(find("tcp_sendmsg", "plumb_not_loaded:x"), -ENOENT);
	expect_said("module plumb_not_loaded is not loaded");
}

#define fixture(test) cmocka_unit_test_setup_teardown(test, begin, end)

static int release(void **state)
{
	(void)state;
	plumb_functions_free(&found);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture(a_name_is_a_function),
		fixture(data_is_no_function),
		fixture(namesakes_are_all_taken),
		fixture(namesakes_without_address_are_one),
		fixture(what_the_compiler_made_of_a_name_is_taken),
		fixture(cold_parts_are_taken_only_if_there_is_nothing_else),
		fixture(a_renamed_static_is_trusted),
		fixture(an_address_is_taken_once),
		fixture(globs_match_names_as_sources_have_them),
		fixture(globs_leave_out_what_is_no_function),
		fixture(modules_can_be_named),
		fixture(globs_take_what_ftrace_knows),
		fixture(an_empty_list_says_nothing),
		fixture(debugfs_has_the_list_too),
		fixture(the_blacklist_is_an_error_where_nothing_else_can_hold),
		fixture(the_blacklist_without_addresses_goes_by_name),
		fixture(code_of_the_boot_is_gone),
		fixture(what_was_meant_is_offered),
		fixture(no_list_of_symbols_is_an_error),
		fixture(odd_lines_are_passed_over),
		fixture(a_slip_among_200000_names_is_found_at_once),
		fixture(results_tell_of_errors_by_their_type),
		fixture(only_what_is_certain_has_a_prototype),
		fixture(modules_have_types_of_their_own),
		fixture(types_can_come_from_a_file),
		fixture(arguments_have_names_and_widths),
		fixture(without_prototype_a_number_is_trusted),
		cmocka_unit_test_teardown(live_tcp_sendmsg_is_as_it_is, release),
		cmocka_unit_test_teardown(live_globs_are_of_functions_that_are_there, release),
		cmocka_unit_test_teardown(live_finish_task_switch_is_found_whatever_became_of_it,
					  release),
		cmocka_unit_test_teardown(live_slips_are_understood, release),
	};

	return run_all(tests);
}
