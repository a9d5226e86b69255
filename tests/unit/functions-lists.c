/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* modules, what can be traced, what is missing */
#include "functions.h"

/* --- modules --- */

static void modules_can_be_named(void **state)
{
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
	expect_said("no such function: other:vfs_read; if it was inlined, probe-check says so\n");
	assert_int_equal(find("absent:vfs_read"), -ENOENT);
	expect_said("module absent is not loaded (what is built in: vmlinux:vfs_read)\n");
	/* A colon in a glob names no module. */
	assert_int_equal(find("[[:lower:]]fs_readv"), 0);
	expect("vfs_readv");
}

/* --- what can be traced --- */

static void globs_take_what_ftrace_knows(void **state)
{
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
	assert_non_null(strstr(plumb_function_obstacle(&found.all[0]), "notrace"));
	assert_null(plumb_function_obstacle(&found.all[1]));
	/* The list is read for a glob, for a name that has an alias, and to explain a refusal. */
	assert_true(found.all[0].unchecked);
	assert_false(found.all[1].unchecked);
	assert_int_equal(find("vfs_read"), 0);
	assert_null(plumb_function_obstacle(&found.all[0]));
}

static void an_empty_list_says_nothing(void **state)
{
	write_text(KALLSYMS, kernel);
	write_text(TRACEABLE, "");
	assert_int_equal(find("vfs_readv", "weak*"), 0);
	expect("vfs_readv weak_one weak_two");
	assert_null(plumb_function_obstacle(&found.all[0]));
}

static void debugfs_has_the_list_too(void **state)
{
	write_text(KALLSYMS, kernel);
	write_text("/sys/kernel/debug/tracing/available_filter_functions", "weak_two\n");
	assert_int_equal(find("weak*"), 0);
	expect("weak_two");
}

static void the_blacklist_is_an_error_where_nothing_else_can_hold(void **state)
{
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
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_boot"), -ENOENT);
	expect_said("vfs_boot is init code, which the kernel freed after boot\n");
}

/* --- what is missing --- */

static void what_was_meant_is_offered(void **state)
{
	write_text(KALLSYMS, kernel);
	assert_int_equal(find("vfs_raed"), -ENOENT);
	expect_said("no such function: vfs_raed; did you mean vfs_read, vfs_readv or vfs_mod?\n");
	assert_int_equal(find("paerd"), -ENOENT);
	expect_said("; did you mean pared?\n");
	/* Neither what is gone nor what is no function. */
	assert_int_equal(find("vfs_bot"), -ENOENT);
	assert_null(strstr(heard, "vfs_boot"));
	assert_int_equal(find("vfs_read", "nothing_like_it"), -ENOENT);
	expect_said("no such function: nothing_like_it; if it was inlined, probe-check says so\n");
	assert_int_equal(found.n, 0);
	assert_null(found.all);
	assert_int_equal(find(""), -ENOENT);
}

static void no_list_of_symbols_is_an_error(void **state)
{
	assert_int_equal(find("vfs_read"), -ENOENT);
	expect_said(KALLSYMS);
}

static void odd_lines_are_passed_over(void **state)
{
	write_text(KALLSYMS, "\n \nrubbish\nffffffff81000000\nffffffff81000000 T\n"
			     "ffffffff81000010 T \nffffffff81000000 T one\t\n"
			     "ffffffff81000020 t two\t[m]\nffffffff81000030 t three");
	assert_int_equal(find("two", "three"), 0);
	expect("two three");
	assert_string_equal(found.all[0].module, "m");
	assert_int_equal(find("one"), -ENOENT);
}

/* In CPU time of this thread, the least of three: a hypervisor's other machines take some of it. */
static double ms_to_find(const char *name, int result)
{
	struct timespec before, after;
	double least = 1e9, ms;

	for (int i = 0; i < 3; i++) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
		assert_int_equal(find(name), result);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
		ms = (after.tv_sec - before.tv_sec) * 1e3 + (after.tv_nsec - before.tv_nsec) / 1e6;
		least = ms < least ? ms : least;
	}
	return least;
}

/* Searching for what was meant costs no more than a few readings of the list, on any host. */
static void a_slip_among_200000_names_is_found_at_once(void **state)
{
	size_t size = 200000 * 64, n = 0;
	char *text = malloc(size);
	double hit, slip;

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
	assert_true(slip < 25 * hit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return run_all(tests);
}
