// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* userfuncs: offsets of functions, in files made for it, in this very program and in libc. */
#include "said.h"
#include "specimen.h"
#include <dlfcn.h>
#include <errno.h>
#include <plumb/user/userfuncs.h>

/* Each function's code is its mark, so that its offset can be found without any symbol. */
static const char source[] =
	"#define BEGIN(name) .type name,%function; name:\n"
	"#define GLOBAL(name) .globl name; BEGIN(name)\n"
	".text\n"
	"GLOBAL(plain) .ascii \"<plain>\"\n"
	"BEGIN(inner) .ascii \"<inner>\"\n"
	"GLOBAL(_alias) GLOBAL(alias) GLOBAL(another_alias) .ascii \"<alias>\"\n"
	"GLOBAL(_ZN3foo3barEv) .ascii \"<mangled>\"\n"
	"GLOBAL(\"main.F[int]\") .ascii \"<go>\"\n"
	".globl chosen; .type chosen,%gnu_indirect_function; chosen: .ascii \"<chosen>\"\n"
	".globl thing; .type thing,%object; thing: .ascii \"<thing>\"\n"
	".globl label; label: .ascii \"<label>\"\n"
	"#ifdef VERSIONS\n"
	"GLOBAL(v1) .ascii \"<old>\"; .symver v1,versioned@OLD\n"
	"GLOBAL(v2) .ascii \"<new>\"; .symver v2,versioned@@NEW\n"
	"GLOBAL(p1) .ascii \"<picked>\"; .symver p1,picked@OLD\n"
	".globl p2; .type p2,%gnu_indirect_function; p2: .ascii \"<p>\"; .symver p2,picked@@NEW\n"
	".data\n"
	"GLOBAL(far) .dc.a elsewhere\n"
	".type elsewhere,%function\n"
	"#endif\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static void compile(const char *flags)
{
	char command[512];

	snprintf(command, sizeof(command), "${CC:-cc} -nostdlib -nostartfiles s.S %s", flags);
	check(!system(command), "%s", command);
}

static int make_files(void **state)
{
	static const char script[] = "OLD { *; }; NEW {} OLD;\n";

	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	write_file("versions", script, strlen(script));
	/* As older linkers laid it out: address 0, which undefined symbols have, is in code. */
	compile("-DVERSIONS -fPIC -shared -Wl,--version-script=versions,-z,noseparate-code -o "
		"lib.so");
	compile("-DVERSIONS -fPIC -shared -Wl,--version-script=versions -s -o stripped.so");
	compile("-fPIE -pie -Wl,-e,plain -o pie");
	compile("-static -Wl,-e,plain -o fixed");
	compile("-static -Wl,-e,plain -Wl,-Ttext=0x7000000 -o far");
	compile("-static -Wl,-e,plain -s -o stripped");
	compile("-c -o object.o");
#if defined(__x86_64__)
	compile("-m32 -fPIC -shared -o lib32.so");
#endif
	return 0;
}

/* What TARGET finds, by name: "alias,plain". */
static const char *names(const char *target)
{
	static char text[512];
	struct plumb_userfuncs found;
	size_t n = 0;

	check(!plumb_userfuncs_find(target, &found), "%s", target);
	check(found.n > 0, "%s", target);
	for (size_t i = 0; i < found.n; i++) {
		n += snprintf(text + n, sizeof(text) - n, "%s%s", i ? "," : "", found.list[i].name);
		check(!i || found.list[i].offset > found.list[i - 1].offset, "%s", target);
	}
	plumb_userfuncs_free(&found);
	assert_int_equal(found.n, 0);
	return text;
}

static void find_mark(const char *file, const char *function, const char *mark)
{
	struct plumb_userfuncs found;
	char target[128];

	snprintf(target, sizeof(target), "./%s:%s", file, function);
	check(!plumb_userfuncs_find(target, &found), "%s", target);
	check(found.n == 1, "%s: %zu", target, found.n);
	assert_int_equal(found.list[0].offset, offset_of_mark(file, mark));
	assert_string_equal(found.list[0].name, function);
	assert_memory_equal(found.path, target, strlen(file) + 2);
	assert_int_equal(strlen(found.path), strlen(file) + 2);
	plumb_userfuncs_free(&found);
}

static void each_kind_of_file_has_its_offsets(void **state)
{
	static const char *const files[] = {
		"lib.so",
		"pie",
		"fixed",
		"far",
#if defined(__x86_64__)
		"lib32.so",
#endif
	};

	for (size_t i = 0; i < LENGTH(files); i++) {
		find_mark(files[i], "plain", "<plain>");
		find_mark(files[i], "inner", "<inner>");
		find_mark(files[i], "_ZN3foo3barEv", "<mangled>");
		find_mark(files[i], "main.F[int]", "<go>");
	}
	find_mark("stripped.so", "plain", "<plain>");
}

static void any_name_of_an_address_is_taken_and_a_glob_takes_the_shortest(void **state)
{
	find_mark("pie", "alias", "<alias>");
	find_mark("pie", "_alias", "<alias>");
	find_mark("pie", "another_alias", "<alias>");
	assert_string_equal(names("./pie:*alias"), "alias");
	assert_string_equal(names("./pie:*_alias"), "_alias");
	assert_string_equal(names("./pie:an*_alias"), "another_alias");
}

static void globs_take_functions_and_nothing_else(void **state)
{
	static const char all[] = "plain,inner,alias,foo::bar,main.F[int]";

	assert_string_equal(names("./fixed:*"), all);
	assert_string_equal(names("./fixed:[pi]*"), "plain,inner");
	assert_string_equal(names("./fixed:_Z*bar*"), "foo::bar");
	assert_string_equal(names("./lib.so:[iv]*"), "inner,v1,v2");
	assert_string_equal(names("./lib.so:p[1i]*"), "p1");
	/* picked@OLD is a function, but not what is called. */
	assert_string_equal(names("./stripped.so:p[il]*"), "plain");
	assert_string_equal(names("./stripped.so:[iv]*"), "v1,v2");
}

static void a_name_stands_for_all_its_versions(void **state)
{
	static const char *const files[] = {"lib.so", "stripped.so"};
	struct plumb_userfuncs found;
	char target[64];

	for (size_t i = 0; i < LENGTH(files); i++) {
		snprintf(target, sizeof(target), "./%s:versioned", files[i]);
		assert_int_equal(plumb_userfuncs_find(target, &found), 0);
		assert_int_equal(found.n, 2);
		assert_string_equal(found.list[0].name, "versioned@OLD");
		assert_string_equal(found.list[1].name, "versioned@NEW");
		assert_int_equal(found.list[0].offset, offset_of_mark(files[i], "<old>"));
		assert_int_equal(found.list[1].offset, offset_of_mark(files[i], "<new>"));
		plumb_userfuncs_free(&found);
	}
}

static void refuses(const char *target, int error, const char *words)
{
	struct plumb_userfuncs found;
	const char *text;
	int err;

	listen_to_stderr();
	err = plumb_userfuncs_find(target, &found);
	text = said();
	check(strstr(text, words), "'%s' says: %s", target, text);
	check(err == -error, "'%s' is %d", target, err);
	assert_int_equal(found.n, 0);
	assert_null(found.list);
	assert_null(found.path);
}

static void what_is_not_there_is_an_error_with_near_names(void **state)
{
	refuses("./pie:plane", ENOENT, "no function plane in ./pie; did you mean plain?\n");
	refuses("./pie:plain@V9", ENOENT, "plain in ./pie has no version V9: it has none\n");
	refuses("./pie:plane@V9", ENOENT, "no function plane");
	refuses("./pie:Plain", ENOENT, "no function Plain in ./pie; did you mean plain?\n");
	refuses("./pie:quota*", ENOENT, "no function quota* in ./pie\n");
	refuses("./pie:thing", ENOENT, "no function thing");
	refuses("./pie:label", ENOENT, "no function label");
	refuses("./pie:PLAIN:", ENOENT, "no function PLAIN: in ./pie\n");
	refuses("./lib.so:elsewhere", ENOENT, "no function elsewhere");
	refuses("./lib.so:far", ENOENT, "no function far"); /* not in code */
	refuses("./stripped.so:inner", ENOENT, "no function inner");
	refuses("./pie:chosen", ENOENT, "chosen in ./pie is an ifunc: ");
	refuses("./pie:chose*", ENOENT,
		"is an ifunc: at run time it becomes one of several functions");
	refuses("./lib.so:picked", ENOENT, "picked in ./lib.so is an ifunc: ");
	refuses("./stripped:plain", ENOENT, "./stripped has no function names (stripped");
}

static void what_is_not_a_program_or_library_is_an_error(void **state)
{
	refuses("./s.S:plain", ENOEXEC, "./s.S is not a program or library (ELF)\n");
	refuses("./object.o:plain", ENOEXEC, "./object.o is ELF, but not a program or library\n");
	refuses("/dev/null:plain", EINVAL, "/dev/null is not a file\n");
	refuses("/:plain", EINVAL, "/ is not a file\n");
	refuses("./none:plain", ENOENT, "cannot open ./none: No such file or directory\n");
	refuses("none-such:plain", ENOENT, "no library or program is named none-such\n");
	refuses("", EINVAL, "should be FILE:FUNCTION");
	refuses(":", EINVAL, "should be FILE:FUNCTION");
	refuses("./pie", EINVAL, "should be FILE:FUNCTION");
	refuses("./pie:", EINVAL, "should be FILE:FUNCTION");
	refuses(":plain", EINVAL, "should be FILE:FUNCTION");
}

static void another_machines_file_is_an_error(void **state)
{
	size_t size;
	char *data = contents("pie", &size);

	data[18] ^= 0x40; /* e_machine */
	write_file("other", data, size);
	refuses("./other:plain", ENOEXEC, "./other is for another machine\n");
	free(data);
}

/* A file can be anything: whatever is found or said, nothing is read that is not there. */
static void damaged_files_do_no_damage(void **state)
{
	size_t size, step;
	char *data = contents("lib.so", &size), was;
	struct plumb_userfuncs found;
	uint64_t random = 42;

	step = size / 300 + 1;
	listen_to_stderr();
	for (size_t n = 0; n < size; n += step) {
		write_file("damaged", data, n);
		plumb_userfuncs_find("./damaged:*", &found);
		plumb_userfuncs_free(&found);
	}
	for (int i = 0; i < 2000; i++) {
		/* The headers, at either end, twice as often as the rest. */
		size_t at = next_random(&random) % (i % 3 == 0 ? 1024 : size);

		at = i % 3 == 1 ? size - 1 - at % 1024 : at;
		was = data[at];
		data[at] = next_random(&random);
		write_file("damaged", data, size);
		plumb_userfuncs_find("./damaged:*", &found);
		plumb_userfuncs_free(&found);
		data[at] = was;
	}
	said();
	/* The table of sections lies behind the rest. */
	write_file("damaged", data, size / 2);
	refuses("./damaged:plain", ENOENT, "no function names (stripped or damaged)");
	free(data);
}

/* --- what runs: the kernel's own words about where a function was loaded from --- */

static uint64_t mapped_offset(const void *function)
{
	uint64_t at = (uintptr_t)function, start, end, offset, found = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4500];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 && at >= start &&
		    at < end)
			found = at - start + offset;
	fclose(maps);
	return found;
}

__attribute__((noinline)) static int a_function_of_this_test(int x)
{
	asm volatile("");
	return x + 1;
}

static void this_programs_functions_are_where_they_run(void **state)
{
	struct plumb_userfuncs found;

	assert_int_equal(a_function_of_this_test(1), 2);
	assert_int_equal(plumb_userfuncs_find("/proc/self/exe:a_function_of_this_*", &found), 0);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.list[0].name, "a_function_of_this_test");
	assert_int_equal(found.list[0].offset, mapped_offset(a_function_of_this_test));
	assert_string_equal(found.path, "/proc/self/exe");
	plumb_userfuncs_free(&found);
}

static void libcs_functions_are_where_they_run(void **state)
{
	static const char *const functions[] = {"getppid", "write", "fwrite", "qsort", "malloc"};
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	struct plumb_userfuncs found;
	char target[64];

	assert_non_null(libc);
	for (size_t i = 0; i < LENGTH(functions); i++) {
		void *address = dlsym(libc, functions[i]);

		snprintf(target, sizeof(target), "libc%s:%s", i % 2 ? ".so.6" : "", functions[i]);
		assert_int_equal(plumb_userfuncs_find(target, &found), 0);
		check(found.n == 1, "%s: %zu", target, found.n);
		assert_int_equal(found.list[0].offset, mapped_offset(address));
		assert_non_null(strstr(found.path, "libc"));
		plumb_userfuncs_free(&found);
	}
	dlclose(libc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_file_has_its_offsets),
		cmocka_unit_test(any_name_of_an_address_is_taken_and_a_glob_takes_the_shortest),
		cmocka_unit_test(globs_take_functions_and_nothing_else),
		cmocka_unit_test(a_name_stands_for_all_its_versions),
		cmocka_unit_test(what_is_not_there_is_an_error_with_near_names),
		cmocka_unit_test(what_is_not_a_program_or_library_is_an_error),
		cmocka_unit_test(another_machines_file_is_an_error),
		cmocka_unit_test(damaged_files_do_no_damage),
		cmocka_unit_test(this_programs_functions_are_where_they_run),
		cmocka_unit_test(libcs_functions_are_where_they_run),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
