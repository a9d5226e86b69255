/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* which functions a name or a glob stands for */
#include "functions.h"
#include <plumb/kernel/renamed.h>

/* --- which functions --- */

static void a_name_is_a_function(void **state)
{
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

/* tools/lib/kernel/renamed.list: the other name is taken only where the first one is missing. */
static void a_renamed_function_is_found(void **state)
{
	write_text(KALLSYMS, "ffffffff81000000 T _stext\nffffffff81000100 T do_file_open\n"
			     "ffffffff81000200 T vfs_read\nffffffff81000300 T _etext\n");
	assert_int_equal(find("do_filp_open", "vfs_read"), 0);
	expect("do_file_open vfs_read");
	assert_int_equal(found.all[0].address, 0xffffffff81000100);
	write_text(KALLSYMS, "ffffffff81000000 T _stext\nffffffff81000100 T do_file_open\n"
			     "ffffffff81000200 T do_filp_open\nffffffff81000300 T _etext\n");
	assert_int_equal(find("do_filp_open"), 0);
	expect("do_filp_open");
	assert_true(plumb_is_named("do_file_open", "do_filp_open"));
	assert_true(plumb_is_named("vfs_read", "vfs_read"));
	assert_false(plumb_is_named("do_filp_open", "do_file_open"));
	assert_null(plumb_other_name("vfs_read", 0));
	assert_null(plumb_other_name("do_filp_open", 1));
}

static void a_prefix_says_what_it_is(void **state)
{
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("k:vfs_readv"), 0);
	expect("vfs_readv");
	assert_int_equal(find("t:sched:sched_switch"), -EINVAL);
	expect_said("not a kernel function");
}

static void data_is_no_function(void **state)
{
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

	write_text(KALLSYMS, kernel);
	assert_int_equal(find("twin"), 0);
	expect("twin twin twin");
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(found.all[i].address, 0xffffffff81000500 + i * 0x100);
		assert_true(found.all[i].ambiguous && found.all[i].named);
		assert_string_equal(plumb_probe_name(&found, i, name, sizeof(name)), names[i]);
	}
	expect_said("3 functions are named twin: all are traced\n");
	/* In the kernel and in a module: two, but each has BTF of its own. */
	assert_int_equal(find("vfs_read"), 0);
	expect("vfs_read vfs_read");
	assert_null(found.all[0].module);
	assert_string_equal(found.all[1].module, "mod");
	assert_string_equal(plumb_probe_name(&found, 1, name, sizeof(name)), "mod:vfs_read");
	assert_false(found.all[0].ambiguous || found.all[1].ambiguous);
	expect_said("2 functions are named vfs_read: all are traced\n");
}

static void namesakes_without_address_are_one(void **state)
{
	write_text(KALLSYMS, "0000000000000000 T _stext\n0000000000000000 t twin\n"
			     "0000000000000000 t twin\n0000000000000000 t single\n"
			     "0000000000000000 T _etext\n");
	assert_int_equal(find("single", "twin", "twin"), 0);
	expect("single twin");
	assert_int_equal(found.all[1].address, 0);
	assert_true(found.all[1].ambiguous && !found.all[1].place);
	assert_false(found.all[0].ambiguous);
	expect_said("2 functions are named twin, and their addresses are hidden");
}

static void what_the_compiler_made_of_a_name_is_taken(void **state)
{
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
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("frozen"), 0);
	expect("frozen.cold");
	assert_true(found.all[0].cold && found.all[0].changed);
	expect_said("frozen.cold: a part of frozen, entered by a jump");
	assert_null(strstr(heard, "signature"));
	assert_int_equal(find("risen_cold", "old"), 0);
	assert_true(found.all[0].cold && found.all[1].cold);
}

static void a_renamed_static_is_trusted(void **state)
{
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
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_*"), 0);
	expect("vfs_mod vfs_read vfs_read vfs_readv");
	expect_said("vfs_*: 1 names are shared by several functions; all are traced\n");
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

	write_text(KALLSYMS, kernel);
	assert_int_equal(find("*"), 0);
	for (size_t i = 0; i < found.n; i++)
		for (size_t j = 0; j < LENGTH(never); j++)
			check(strcmp(found.all[i].name, never[j]), "%s is taken", never[j]);
	/* _stext vfs_read×2 vfs_readv weak×2 twin×3 pared×2 whole×2 risen alias vfs_mod other_fn */
	assert_int_equal(found.n, 17);
	assert_int_equal(find("__pfx_*"), -ENOENT);
	assert_int_equal(find("froze*"), -ENOENT);
	expect_said("no function name matches froze*\n");
	assert_int_equal(find("vfs_b*"), -ENOENT);
	expect_said("no function that can be traced matches vfs_b*\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture(a_name_is_a_function),
		fixture(a_renamed_function_is_found),
		fixture(a_prefix_says_what_it_is),
		fixture(data_is_no_function),
		fixture(namesakes_are_all_taken),
		fixture(namesakes_without_address_are_one),
		fixture(what_the_compiler_made_of_a_name_is_taken),
		fixture(cold_parts_are_taken_only_if_there_is_nothing_else),
		fixture(a_renamed_static_is_trusted),
		fixture(an_address_is_taken_once),
		fixture(globs_match_names_as_sources_have_them),
		fixture(globs_leave_out_what_is_no_function),
	};

	return run_all(tests);
}
