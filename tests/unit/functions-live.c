// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* functions-live: functions of the running kernel. */
#include "functions.h"

static void live_tcp_sendmsg_is_as_it_is(void **state)
{
	const struct plumb_function *f;

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
	if (access(KALLSYMS, R_OK))
		skip();
	assert_int_equal(find("tcp_sendmgs"), -ENOENT);
	expect_said("no such function: tcp_sendmgs; did you mean tcp_sendmsg");
	assert_int_equal(find("tcp_sendmsg", "plumb_not_loaded:x"), -ENOENT);
	expect_said("module plumb_not_loaded is not loaded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(live_tcp_sendmsg_is_as_it_is, release),
		cmocka_unit_test_teardown(live_globs_are_of_functions_that_are_there, release),
		cmocka_unit_test_teardown(live_finish_task_switch_is_found_whatever_became_of_it,
					  release),
		cmocka_unit_test_teardown(live_slips_are_understood, release),
	};

	return run_all(tests);
}
