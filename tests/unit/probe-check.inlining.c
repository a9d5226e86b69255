// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* inlining: what became of calls, in files compiled for it, whose numbers are known. */
#include "said.h"
#include "specimen.h"
#include "inlining/code.h"
#include <elf.h>
#include "image/image.h"
#include "probe-check.inlining.h"

static struct plumb_calls calls;

static void write_text(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_text("s.c", source);
	write_text("more.c", more);
	write_text("taken.c", taken);
	run("gcc -g -O0 s.c -o O0");
	run("gcc -g -O2 s.c -o O2");
	run("gcc -g -O2 -fno-pie -no-pie s.c -o fixed");
	run("gcc -g -O2 -fPIC -shared s.c -o lib.so");
	run("gcc -g -O2 -fPIC -shared -fno-plt s.c -o noplt.so");
	run("gcc -g -O2 s.c more.c -o two");
	run("gcc -g -O2 -flto -fno-ipa-cp s.c more.c -o lto");
	run("gcc -O2 s.c -o bare");
	run("mkdir .debug && gcc -g -O2 -Wl,--build-id=none s.c -o linked && "
	    "objcopy --only-keep-debug linked .debug/linked.debug && strip linked && "
	    "objcopy --add-gnu-debuglink=.debug/linked.debug linked");
	run("gcc -g -O2 -Wl,--build-id=none s.c -o stale && strip stale && "
	    "echo other >.debug/stale.debug && objcopy --add-gnu-debuglink=.debug/stale.debug "
	    "stale && "
	    "cp .debug/linked.debug .debug/stale.debug");
	return 0;
}

/* The address that nm says; 0: it says none. */
static uint64_t address_of(const char *path, const char *name)
{
	unsigned long address = 0;
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command),
		 "nm %s 2>/dev/null | awk '$3 == \"%s\" { print $1 }'; "
		 "nm -D %s 2>/dev/null | awk '$3 == \"%s\" { print $1 }'",
		 path, name, path, name);
	f = popen(command, "r");
	assert_non_null(f);
	if (fscanf(f, "%lx", &address) != 1)
		address = 0;
	pclose(f);
	return address;
}

static struct plumb_callee count(const char *path, const char *name)
{
	struct plumb_callee callee = {.name = name, .address = address_of(path, name)};

	check(!plumb_calls_in_file(path, &callee, 1, &calls), "%s", path);
	assert_true(calls.has_code);
	return callee;
}

static void check_calls(const char *path, const char *name, size_t inlined, size_t direct)
{
	struct plumb_callee c = count(path, name);

	check(c.described, "%s in %s", name, path);
	check(c.inlined == inlined, "%s in %s: %zu", name, path, c.inlined);
	check(c.direct == direct, "%s in %s: %zu", name, path, c.direct);
	check(c.compiled == (c.address != 0), "%s in %s", name, path);
}

static void without_optimization_only_what_must_be_is_inlined(void **state)
{
	check_calls("./O0", "always", 3, 0);
	check_calls("./O0", "never", 0, 3);
	check_calls("./O0", "small", 0, 3);
	check_calls("./O0", "part", 0, 3);
	check_calls("./O0", "shared", 0, 1);
	check_calls("./O0", "asked", 0, 3);
	check_calls("./O0", "held", 0, 0);
}

static void optimization_inlines_and_the_numbers_say_so(void **state)
{
	static const char *const files[] = {"./O2", "./fixed"};

	for (size_t i = 0; i < LENGTH(files); i++) {
		check_calls(files[i], "always", 3, 0);
		check_calls(files[i], "never", 0, 3);
		check_calls(files[i], "small", 3, 0);
		check_calls(files[i], "asked", 0, 3);
		check_calls(files[i], "shared", 1, 0); /* and still there, for others */
		assert_true(count(files[i], "shared").compiled);
		assert_int_equal(count(files[i], "small").address, 0);
	}
}

/* The test of x is inlined thrice; what follows it stands apart, called thrice. */
static void of_a_partly_inlined_function_both_parts_are_told(void **state)
{
	struct plumb_function_parts parts;

	/* Its rest is made a function, which then is inlined as well: not another place. */
	assert_int_equal(count("./O2", "rest").inlined, 3);
	assert_int_equal(count("./O2", "part").inlined, 3);
	assert_true(count("./O2", "part").compiled); /* in part */
	assert_int_equal(count("./O2", "part").direct, 0);
	check_calls("./O2", "part.part.0", 0, 3); /* only its beginning is inlined */
	assert_int_equal(plumb_parts_find("./O2", "part", &parts), 0);
	assert_int_equal(parts.n, 1);
	assert_string_equal(parts.all[0].name, "part.part.0");
	assert_int_equal(parts.all[0].address, address_of("./O2", "part.part.0"));
	assert_true(parts.all[0].size > 10);
	plumb_parts_free(&parts);
	assert_int_equal(plumb_parts_find("./O0", "part", &parts), 0);
	assert_int_equal(parts.n, 1);
	assert_string_equal(parts.all[0].name, "part");
	plumb_parts_free(&parts);
	assert_int_equal(plumb_parts_find("./O2", "nothing", &parts), 0);
	assert_int_equal(parts.n, 0);
}

static void calls_through_the_own_linkage_table_count(void **state)
{
	struct plumb_callee c;

	check_calls("./lib.so", "shared", 0, 1);
	check_calls("./noplt.so", "shared", 0, 1);
	check_calls("./lib.so", "asked", 0, 3);
	check_calls("./noplt.so", "asked", 0, 3);
	c = count("./lib.so", "asked");
	assert_true(c.exported);
	assert_true(count("./lib.so", "main").exported);
	assert_false(count("./lib.so", "never").exported);
	assert_false(count("./O2", "asked").exported);
}

static void entries_of_the_linkage_table_are_told_apart(void **state)
{
	static const char *const options[] = {"-z,now", "-z,lazy", "-z,ibtplt"};

	for (size_t i = 0; i < LENGTH(options); i++) {
		run("gcc -g -O2 -fPIC -shared -Wl,%s taken.c -o taken.so", options[i]);
		check_calls("./taken.so", "f1", 0, 2);
		check_calls("./taken.so", "f2", 0, 5);
	}
}

static void places_that_hold_an_address_are_counted(void **state)
{
	static const char *const files[] = {"./O0", "./O2", "./fixed", "./lib.so", "./noplt.so"};

	for (size_t i = 0; i < LENGTH(files); i++) {
		struct plumb_callee c = count(files[i], "held");

		assert_true(calls.has_data);
		check(c.taken == 2, "%s: %zu", files[i], c.taken);
		check(!c.direct, "%s: %zu", files[i], c.direct);
		check(!count(files[i], "asked").taken, "%s", files[i]);
	}
	check(count("./O2", "main").taken == 1, "by the code that starts it");
}

static void functions_of_one_name_are_told_apart_by_address(void **state)
{
	struct plumb_callee c;

	check_calls("./two", "small", 5, 0); /* both are gone: together */
	c = count("./two", "local");         /* that of more.c, which is called; the other is not */
	assert_int_equal(c.inlined, 0);
	assert_int_equal(c.direct, 1);
	c.address = 0;
	assert_int_equal(plumb_calls_in_file("./two", &c, 1, &calls), 0);
	assert_int_equal(c.inlined, 1);
}

static void whole_program_optimization_is_followed_across_units(void **state)
{
	check_calls("./lto", "small", 3, 0); /* d(), which nothing calls, is gone */
	check_calls("./lto", "always", 3, 0);
	check_calls("./lto", "a", 1, 0);
	assert_int_equal(count("./lto", "never").inlined, 0);
	run("gcc -g -O0 -flto -c s.c -o lto1.o && gcc -g -O0 -flto -c more.c -o lto2.o && "
	    "gcc -g -O0 -flto lto1.o lto2.o -o renamed");
	check(address_of("./renamed", "small.lto_priv.0"), "%s", "a clone of two small()");
	check_calls("./renamed", "small.lto_priv.0", 0,
		    2 + (count("./renamed", "small.lto_priv.0").direct == 3));
}

/* Where it is looked for is the library's: tests/unit/symbols-files.c. */
static void debugging_information_may_be_in_another_file(void **state)
{
	check_calls("./linked", "small", 3, 0);
	assert_true(calls.has_debug_info);
}

static void that_of_another_build_is_not_taken(void **state)
{
	assert_false(count("./stale", "small").described);
	assert_false(calls.has_debug_info);
	run("gcc -g -O2 -Wl,--build-id=0x11 s.c -o .debug/other && "
	    "gcc -O2 -Wl,--build-id=0x22 s.c -o wrong-id && "
	    "objcopy --add-gnu-debuglink=.debug/other wrong-id");
	assert_false(count("./wrong-id", "small").described);
	assert_false(calls.has_debug_info);
}

static void without_debugging_information_only_the_code_tells(void **state)
{
	struct plumb_callee c = count("./bare", "never");

	assert_false(calls.has_debug_info);
	assert_false(c.described);
	assert_int_equal(c.direct, 3);
	assert_int_equal(count("./bare", "small").direct, 0);
}

static void a_name_that_the_sources_do_not_have_is_followed_by_address(void **state)
{
	check_calls("./O2", "other", 0, 3);
	check_calls("./O0", "other", 0, 3);
}

/* Each function of a file, beside what objdump says. */
static void all_counts_agree_with_a_disassembler(void **state)
{
	static const char *const files[] = {"./O0", "./O2", "./fixed", "./lto"};
	char command[256], name[64];
	unsigned long direct;
	FILE *f;

	for (size_t i = 0; i < LENGTH(files); i++) {
		size_t n = 0;

		/* By address: one may have several names. */
		snprintf(command, sizeof(command),
			 "objdump -d --no-show-raw-insn %s >dump; nm %s | awk '$2 ~ /[tT]/' | "
			 "while read -r a t f; do echo $f $(grep -cE "
			 "\"(call|j[a-z]+|bl?) +(0x)?$(echo $a | sed s/^0*//) <\" dump); done",
			 files[i], files[i]);
		f = popen(command, "r");
		assert_non_null(f);
		while (fscanf(f, "%63s %lu", name, &direct) == 2) {
			struct plumb_callee c = count(files[i], name);

			check(c.direct == direct, "%s of %s: %zu, objdump has %lu", name, files[i],
			      c.direct, direct);
			n++;
		}
		pclose(f);
		check(n > 10, "%s: %zu", files[i], n);
	}
}

/* Whatever is linked to an address will do for one. */
static void of_a_kernel_the_same_is_told(void **state)
{
	struct plumb_callee all[] = {{.name = "never", .address = address_of("./fixed", "never")},
				     {.name = "small"},
				     {.name = "held", .address = address_of("./fixed", "held")}};
	struct plumb_image image;

	assert_int_equal(plumb_image_open("./fixed", &image), 0);
	assert_int_equal(plumb_calls_in_kernel(&image, all, LENGTH(all), &calls), 0);
	plumb_image_close(&image);
	assert_true(calls.has_debug_info && calls.has_code && calls.has_data);
	assert_int_equal(all[0].direct, 3);
	assert_int_equal(all[0].inlined, 0);
	assert_true(all[0].described && all[0].compiled);
	assert_int_equal(all[1].inlined, 3);
	assert_int_equal(all[2].taken, 2);
}

/* Handlers: the list of functions that ftrace knows does not call them. */
static void what_init_code_registers_is_called_and_what_it_calls_is_not(void **state)
{
	/* lea 0x3000(%rip),%rax; call 0x3000 */
	static const unsigned char code[] = {0x48, 0x8d, 0x05, 0xf9, 0x1f, 0,
					     0,    0xe8, 0xf4, 0x1f, 0,    0};
	static const uint64_t data[] = {0x2f00, 0x3000, 0x2fff};
	static char lists[] = "0000000000002008 D __start_mcount_loc\n"
			      "0000000000002010 D __stop_mcount_loc\n";
	struct plumb_callee one = {.name = "one", .address = 0x3000};
	struct plumb_span spans[] = {
		{0x1000, code, sizeof(code), .is_code = true, .is_init = true},
		{0x2000, (const void *)data, sizeof(data), .is_init = true, .slide = 0x100},
	};
	struct plumb_image image = {
		.machine = EM_X86_64, .symbols = lists, .spans = spans, .n_spans = LENGTH(spans)};

	/* In data: the first word with the slide; without it, only the second, in the list. */
	assert_int_equal(plumb_calls_in_kernel(&image, &one, 1, &calls), 0);
	assert_true(calls.has_init);
	assert_int_equal(one.taken, 2);
	assert_int_equal(one.direct, 0);
	spans[1].slide = 0;
	assert_int_equal(plumb_calls_in_kernel(&image, &one, 1, &calls), 0);
	assert_int_equal(one.taken, 1);
	image.symbols = NULL; /* where the list is is not known: no data is searched */
	assert_int_equal(plumb_calls_in_kernel(&image, &one, 1, &calls), 0);
	assert_false(calls.has_init);
	assert_int_equal(one.taken, 1);
	spans[0].is_init = false;
	assert_int_equal(plumb_calls_in_kernel(&image, &one, 1, &calls), 0);
	assert_int_equal(one.direct, 1);
}

static void many_are_counted_at_once(void **state)
{
	struct plumb_callee all[5000] = {};

	for (size_t i = 0; i < LENGTH(all); i++)
		all[i] = (struct plumb_callee){.name = "never", .address = 0x10000000 + i};
	all[0].address = all[4999].address = address_of("./O2", "never");
	assert_int_equal(plumb_calls_in_file("./O2", all, LENGTH(all), &calls), 0);
	assert_int_equal(all[0].direct, 3);
	assert_int_equal(all[4999].direct, 3);
	assert_int_equal(all[1].direct, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_optimization_only_what_must_be_is_inlined),
		cmocka_unit_test(optimization_inlines_and_the_numbers_say_so),
		cmocka_unit_test(of_a_partly_inlined_function_both_parts_are_told),
		cmocka_unit_test(calls_through_the_own_linkage_table_count),
		cmocka_unit_test(entries_of_the_linkage_table_are_told_apart),
		cmocka_unit_test(places_that_hold_an_address_are_counted),
		cmocka_unit_test(functions_of_one_name_are_told_apart_by_address),
		cmocka_unit_test(whole_program_optimization_is_followed_across_units),
		cmocka_unit_test(debugging_information_may_be_in_another_file),
		cmocka_unit_test(that_of_another_build_is_not_taken),
		cmocka_unit_test(without_debugging_information_only_the_code_tells),
		cmocka_unit_test(a_name_that_the_sources_do_not_have_is_followed_by_address),
		cmocka_unit_test(all_counts_agree_with_a_disassembler),
		cmocka_unit_test(of_a_kernel_the_same_is_told),
		cmocka_unit_test(what_init_code_registers_is_called_and_what_it_calls_is_not),
		cmocka_unit_test(many_are_counted_at_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
