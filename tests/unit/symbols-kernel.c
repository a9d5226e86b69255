// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* symbols-kernel: names of kernel functions, and the demangling of others. */
#include "specimen.h"
#include <plumb/functions/lists.h>
#include "../../tools/lib/symbols/symbols.h"

static const char kallsyms[] = "ffffffff81000000 T _text\n"
			       "ffffffff81000000 T _stext\n"
			       "ffffffff81000000 T startup_64\n"
			       "ffffffff81000100 t __do_sys_getppid\n"
			       "ffffffff81000100 T __x64_sys_getppid\n"
			       "ffffffff81000100 T __ia32_sys_getppid\n"
			       "ffffffff81000180 D data_in_between\n"
			       "ffffffff81000200 W weak_one\n"
			       "ffffffff81000240 T kretprobe_trampoline\n"
			       "0000000000000000 T hidden\n"
			       "not a line\n"
			       "ffffffffc0800000 t nft_do_chain\t[nf_tables]\n"
			       "ffffffffc0800040 t nft_last\t[nf_tables]\n"
			       "ffffffffc0700000 t bpf_prog_6deef7357e7b4530_count\t[bpf]\n"
			       "ffffffffc0600000 t ftrace_trampoline\t[__builtin__ftrace]";

static int make_system(void **state)
{
	if (make_specimens() || mkdir("proc", 0755))
		return -1;
	plumb_functions_root = specimens;
	return 0;
}

static char text[256];

static const char *name(struct plumb_symbolizer *s, uint64_t address, bool is_return)
{
	struct plumb_frame_name frame;

	plumb_symbolize_kernel(s, address, is_return, &frame);
	assert_true(frame.is_kernel);
	return plumb_frame_name_text(&frame, text, sizeof(text));
}

static void kernel_functions_have_names_and_modules(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	struct plumb_frame_name frame;

	write_file("proc/kallsyms", kallsyms, strlen(kallsyms));
	assert_null(plumb_symbolizer_obstacle(s));
	assert_string_equal(name(s, 0xffffffff81000010, false), "startup_64");
	assert_string_equal(name(s, 0xffffffff81000100, false), "__x64_sys_getppid");
	assert_string_equal(name(s, 0xffffffff81000190, false), "__x64_sys_getppid");
	assert_string_equal(name(s, 0xffffffff81000200, false), "weak_one");
	assert_string_equal(name(s, 0xffffffff81000200, true), "__x64_sys_getppid");
	assert_string_equal(name(s, 0xffffffff81000240, true), "kretprobe_trampoline");
	assert_string_equal(name(s, 0xffffffffc0800020, false), "nft_do_chain [nf_tables]");
	assert_string_equal(name(s, 0xffffffffc0800040, false), "nft_last [nf_tables]");
	assert_string_equal(name(s, 0xffffffffc0700001, false),
			    "bpf_prog_6deef7357e7b4530_count [bpf]");
	assert_string_equal(name(s, 0xffffffffc0600000, false),
			    "ftrace_trampoline [__builtin__ftrace]");
	plumb_symbolize_kernel(s, 0xffffffffc0800043, false, &frame);
	assert_string_equal(frame.function, "nft_last");
	assert_string_equal(frame.module, "nf_tables");
	assert_int_equal(frame.offset, 3);
	assert_int_equal(plumb_symbolizer_counts(s)->unknown, 0);
	/* Below all, and far behind the last of a module. */
	assert_string_equal(name(s, 0xffffffff80000000, false), "0xffffffff80000000 [kernel]");
	assert_string_equal(name(s, 0xffffffffc0900000, false), "0xffffffffc0900000 [kernel]");
	assert_int_equal(plumb_symbolizer_counts(s)->unknown, 2);
	plumb_symbolizer_free(s);
}

static void modules_that_come_later_have_names(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	char text_of_list[4096];

	write_file("proc/kallsyms", kallsyms, strlen(kallsyms));
	write_file("proc/modules", "nf_tables 1 0 - Live 0xffffffffc0800000\n", 40);
	assert_null(plumb_symbolizer_obstacle(s));
	/* Another module's, right behind, is not the last function of this one. */
	assert_string_equal(name(s, 0xffffffffc0802010, false), "0xffffffffc0802010 [kernel]");
	snprintf(text_of_list, sizeof(text_of_list),
		 "ffffffff81000100 T __x64_sys_getppid\n"
		 "ffffffffc0802000 t null_queue_rq\t[null_blk]\n"
		 "ffffffffc0700000 t taken\t[other]\n");
	write_file("proc/kallsyms", text_of_list, strlen(text_of_list));
	plumb_symbolizer_note_kernel(s); /* no module has changed */
	assert_string_equal(name(s, 0xffffffffc0802010, false), "0xffffffffc0802010 [kernel]");
	write_file("proc/modules", "null_blk 1 0 - Live 0xffffffffc0802000\n", 39);
	plumb_symbolizer_note_kernel(s);
	assert_string_equal(name(s, 0xffffffff81000110, false), "__x64_sys_getppid");
	assert_string_equal(name(s, 0xffffffffc0802010, false), "null_queue_rq [null_blk]");
	assert_string_equal(name(s, 0xffffffffc0800020, false), "nft_do_chain [nf_tables]");
	assert_string_equal(name(s, 0xffffffffc0700001, false), "taken [address reused] [other]");
	plumb_symbolizer_free(s);
}

static void addresses_that_are_hidden_are_no_names(void **state)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 t foo\t[bar]\n";
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);

	write_file("proc/kallsyms", hidden, strlen(hidden));
	assert_string_equal(name(s, 0xffffffff81000010, false), "0xffffffff81000010 [kernel]");
	assert_non_null(strstr(plumb_symbolizer_obstacle(s), "their addresses are hidden"));
	assert_non_null(strstr(plumb_symbolizer_obstacle(s), "kernel.kptr_restrict"));
	plumb_symbolizer_free(s);
}

static void why_there_is_no_list_is_told(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);

	unlink("proc/kallsyms");
	assert_string_equal(
		plumb_symbolizer_obstacle(s),
		"no names of kernel functions: /proc/kallsyms: No such file or directory");
	plumb_symbolizer_free(s);
}

/* The running kernel's own. */
static void each_function_of_this_kernel_has_its_name(void **state)
{
	struct plumb_symbolizer *s = plumb_symbolizer_new(false);
	char line[512], symbol[256], type;
	uint64_t address;
	int seen = 0;
	FILE *f = fopen("/proc/kallsyms", "r");

	plumb_functions_root = "";
	if (!f || plumb_symbolizer_obstacle(s))
		skip();
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %c %255s", &address, &type, symbol) == 3 && type == 'T' &&
		    (!strcmp(symbol, "schedule") || !strcmp(symbol, "tcp_sendmsg"))) {
			seen++;
			assert_string_equal(name(s, address, false), symbol);
			assert_string_equal(name(s, address + 1, true), symbol);
		}
	assert_true(seen > 0);
	fclose(f);
	plumb_symbolizer_free(s);
	plumb_functions_root = specimens;
}

/* --- demangling --- */

static const char *plain(const char *mangled)
{
	plumb_demangle(mangled, text, sizeof(text));
	return text;
}

static void names_are_as_the_source_has_them(void **state)
{
	assert_string_equal(plain("_ZN3foo3barEi"), "foo::bar(int)");
	assert_string_equal(plain("_ZN3foo3barEi.isra.0"), "foo::bar(int) [clone .isra.0]");
	assert_string_equal(plain("_ZNSt6vectorIiSaIiEE9push_backERKi@@V1"),
			    "std::vector<int, std::allocator<int> >::push_back(int const&)");
	assert_string_equal(plain("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
			    "core::fmt::Write::write_fmt");
	assert_string_equal(plain("_RNvCs4fqI2P2rA04_7mycrate3foo"), "mycrate::foo");
	assert_string_equal(plain("_RINvNtC3std3mem8align_ofdE"), "std::mem::align_of::<f64>");
	assert_string_equal(plain("memcpy@@GLIBC_2.14"), "memcpy");
	assert_string_equal(plain("main.(*T).Do"), "main.(*T).Do");
	assert_string_equal(plain("_Z"), "_Z");
	assert_string_equal(plain("_Zwrong"), "_Zwrong");
	assert_string_equal(plain(""), "");
}

static void a_name_that_is_too_long_is_cut(void **state)
{
	char mangled[8192];
	size_t n;

	memset(mangled, 'a', sizeof(mangled));
	mangled[sizeof(mangled) - 1] = 0;
	memcpy(mangled, "_Z8000", 6);
	assert_int_equal(strlen(plain(mangled)), sizeof(text) - 1);
	/* Each type is two of the one before it: 2^60 letters. */
	n = sprintf(mangled, "_Z1fSt4pairI1aS0_E");
	for (int i = 1; i < 60; i++)
		n += sprintf(mangled + n, "S_IS%c_S%c_E",
			     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
			     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
	assert_true(strlen(plain(mangled)) > 100);
	assert_memory_equal(text, "f(std::pair", 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_functions_have_names_and_modules),
		cmocka_unit_test(modules_that_come_later_have_names),
		cmocka_unit_test(addresses_that_are_hidden_are_no_names),
		cmocka_unit_test(why_there_is_no_list_is_told),
		cmocka_unit_test(each_function_of_this_kernel_has_its_name),
		cmocka_unit_test(names_are_as_the_source_has_them),
		cmocka_unit_test(a_name_that_is_too_long_is_cut),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_system, remove_specimens);
}
