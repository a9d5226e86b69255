// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* start: the function with which a thread was started, by its stack. */
#include "unit.h"

#include <plumb/stacks/stacks.h>

/* Of a stack, innermost first, the first frame of which is the kernel's. */
#define START(...) start_of((const char *[]){"do_futex", __VA_ARGS__, NULL}, true)

static const char *start_of(const char **frames, bool is_whole)
{
	static struct plumb_frames f;

	f = (struct plumb_frames){.n_kernel = 1, .is_whole = is_whole};
	while (frames[f.n]) {
		f.text[f.n] = (char *)frames[f.n];
		f.n++;
	}
	return plumb_frames_start(&f);
}

static void threads_of_c(void **state)
{
	assert_string_equal(START("nanosleep", "flush", "start_thread", "clone3"), "flush");
	assert_string_equal(START("work", "start_thread", "__clone"), "work");
	assert_string_equal(
		START("read", "main", "__libc_start_call_main", "__libc_start_main", "_start"),
		"main");
	assert_string_equal(START("read", "dd+0x32fe", "__libc_start_call_main",
				  "__libc_start_main", "dd+0x3d01"),
			    "dd+0x32fe");
}

static void what_is_not_known_is_not_told(void **state)
{
	assert_null(START("nanosleep", "flush"));
	assert_null(START("nanosleep", "[unknown]", "start_thread", "clone3"));
	assert_null(START("start_thread", "clone3"));
	assert_null(START("openat", "_dl_sysdep_start", "_start"));
	assert_null(START("f", "_start"));
	assert_null(START("f", "pythread_wrapper", "start_thread", "clone3"));
	assert_null(start_of((const char *[]){"do_futex", "nanosleep", "__libc_start_call_main",
					      "__libc_start_main", NULL},
			     false));
}

static void threads_of_cpp(void **state)
{
	assert_string_equal(
		START("f", "flush()", "libstdc++.so.6.0.30+0xd44a3", "start_thread", "clone3"),
		"flush()");
	assert_string_equal(START("f", "flush()", "void std::__invoke_impl<void, void (*)()>",
				  "std::thread::_State_impl<x>::_M_run()",
				  "execute_native_thread_routine", "start_thread", "clone3"),
			    "flush()");
	/* It contains a lambda, and calls what that calls. */
	assert_null(START("wait_for_job()", "std::thread::_State_impl<x>::_M_run()",
			  "libstdc++.so.6.0.30+0xd44a3", "start_thread", "clone3"));
	assert_null(START("flush()", "std::_Function_handler<x>::_M_invoke", "__pthread_once_slow",
			  "std::thread::_State_impl<x>::_M_run()", "libstdc++.so.6.0.30+0xd44a3",
			  "start_thread", "clone3"));
}

static void threads_of_rust(void **state)
{
	assert_string_equal(START("nanosleep", "flush_loop",
				  "std::sys::backtrace::__rust_begin_short_backtrace",
				  "core::ops::function::FnOnce::call_once{{vtable.shim}}",
				  "<std::sys::thread::unix::Thread>::new::thread_start",
				  "start_thread", "clone3"),
			    "flush_loop");
	assert_null(START("flush_loop", "<std::sys::thread::unix::Thread>::new::thread_start",
			  "start_thread", "clone3"));
}

static void texts(void **state)
{
	char text[64];

	assert_string_equal(plumb_start_text("flush(int)", "srv", text, sizeof(text)), " (flush)");
	assert_string_equal(plumb_start_text("(anonymous)::f", "srv", text, sizeof(text)),
			    " ((anonymous)::f)");
	assert_string_equal(plumb_start_text("main", "srv", text, sizeof(text)), "");
	assert_string_equal(plumb_start_text("srv", "srv", text, sizeof(text)), "");
	assert_string_equal(plumb_start_text("", "srv", text, sizeof(text)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_c),   cmocka_unit_test(what_is_not_known_is_not_told),
		cmocka_unit_test(threads_of_cpp), cmocka_unit_test(threads_of_rust),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
