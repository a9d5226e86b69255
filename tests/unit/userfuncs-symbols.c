// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* userfuncs: names of all forms, and symbols that are not in the file's own symbol table. */
#include "said.h"
#include "specimen.h"
#include <elf.h>
#include <errno.h>
#include <plumb/user/userfuncs.h>

/* Each function's code is its mark, so that its offset can be found without any symbol. */
static const char source[] =
	"#define BEGIN(name) .type name,%function; name:\n"
	"#define GLOBAL(name) .globl name; BEGIN(name)\n"
	".text\n"
	"GLOBAL(plain) .ascii \"<plain>\"; .size plain,.-plain\n"
	"BEGIN(inner) .ascii \"<inner>\"\n"
	"GLOBAL(_alias) GLOBAL(alias) GLOBAL(another_alias) .ascii \"<alias>\"\n"
	"BEGIN(split.part.0) .ascii \"<part>\"\n"
	"BEGIN(split.isra.0) .ascii \"<isra>\"\n"
	"BEGIN(kept) .ascii \"<kept>\"\n"
	"BEGIN(kept.constprop.0) .ascii \"<constprop>\"\n"
	"BEGIN(hot) .ascii \"<hot>\"\n"
	"BEGIN(hot.cold) .ascii \"<cold>\"\n"
	"GLOBAL(_ZN2ns5Class6methodEi) .ascii \"<int>\"\n"
	"GLOBAL(_ZN2ns5Class6methodEv) .ascii \"<void>\"\n"
	"GLOBAL(_ZN2ns5ClassC1Ev) GLOBAL(_ZN2ns5ClassC2Ev) .ascii \"<constructor>\"\n"
	"GLOBAL(_ZN2ns5aloneIiEEiT_) .ascii \"<alone>\"\n"
	"GLOBAL(_ZplRK1AS1_) .ascii \"<plus>\"\n"
	"GLOBAL(_ZN5crate6module4work17h0123456789abcdefE) .ascii \"<rust>\"\n"
	"GLOBAL(_RNvC5crate6modern) .ascii \"<v0>\"\n"
	".globl picked; .type picked,%gnu_indirect_function; picked: .ascii \"<picked>\"\n"
	"BEGIN(__picked_avx2) .ascii \"<avx2>\"\n"
	"BEGIN(__picked_sse2) .ascii \"<sse2>\"\n"
	"#ifdef VERSIONS\n"
	"GLOBAL(v1) .ascii \"<old>\"; .symver v1,versioned@OLD\n"
	"GLOBAL(v2) .ascii \"<new>\"; .symver v2,versioned@@NEW\n"
	"GLOBAL(i1) .ascii \"<function>\"; .symver i1,changed@OLD\n"
	".globl i2; .type i2,%gnu_indirect_function; i2: .ascii \"<i2>\"; .symver i2,changed@@NEW\n"
	"#endif\n"
	".section .note.GNU-stack,\"\",%progbits\n";

static int make_files(void **state)
{
	static const char script[] = "OLD { *; }; NEW {} OLD;\n";

	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	write_file("versions", script, strlen(script));
	run("${CC:-cc} -nostdlib -DVERSIONS -fPIC -shared -Wl,--version-script=versions s.S -o "
	    "lib.so");
	run("strip -o stripped.so lib.so");
	run("${CC:-cc} -nostdlib -fPIE -pie -Wl,-e,plain s.S -o pie");
	run("${CC:-cc} -nostdlib -static -Wl,-e,plain,--build-id=none s.S -o fixed");
	return 0;
}

/* What TARGET finds, by name: "alias,plain". */
static const char *names(const char *target)
{
	static char text[1024];
	struct plumb_userfuncs found;
	size_t n = 0;

	check(!plumb_userfuncs_find(target, &found), "%s", target);
	for (size_t i = 0; i < found.n; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%s", i ? "," : "", found.list[i].name);
	plumb_userfuncs_free(&found);
	return text;
}

/* TARGET finds one function, where the MARK is. */
static void finds(const char *target, const char *mark)
{
	struct plumb_userfuncs found;

	check(!plumb_userfuncs_find(target, &found), "%s", target);
	check(found.n == 1, "%s: %zu", target, found.n);
	check(found.list[0].offset == offset_of_mark(found.path, mark), "%s", target);
	plumb_userfuncs_free(&found);
}

static const char *complaint(const char *target)
{
	struct plumb_userfuncs found;

	listen_to_stderr();
	check(plumb_userfuncs_find(target, &found) == -ENOENT, "%s", target);
	assert_int_equal(found.n, 0);
	return said();
}

static void says(const char *target, const char *words)
{
	const char *text = complaint(target);

	check(strstr(text, words), "'%s' says: %s", target, text);
}

static void a_version_selects_its_function(void **state)
{
	static const char *const files[] = {"lib.so", "stripped.so"};
	char target[64];

	for (size_t i = 0; i < LENGTH(files); i++) {
		snprintf(target, sizeof(target), "./%s:versioned@OLD", files[i]);
		finds(target, "<old>");
		snprintf(target, sizeof(target), "./%s:versioned@@NEW", files[i]);
		finds(target, "<new>");
		snprintf(target, sizeof(target), "./%s:version*@N*", files[i]);
		finds(target, "<new>");
		/* Only the default version is an ifunc. */
		snprintf(target, sizeof(target), "./%s:changed@OLD", files[i]);
		finds(target, "<function>");
		snprintf(target, sizeof(target), "./%s:changed@NEW", files[i]);
		says(target, "is an ifunc");
		snprintf(target, sizeof(target), "./%s:versioned@NONE", files[i]);
		says(target, "has no version NONE: it has OLD, NEW\n");
	}
}

static void a_function_with_several_names_is_one(void **state)
{
	struct plumb_userfuncs found;

	assert_string_equal(names("./pie:*alias"), "alias");
	assert_int_equal(plumb_userfuncs_find("./pie:alias", &found), 0);
	assert_int_equal(found.n, 1);
	assert_string_equal(found.list[0].aliases, "_alias, another_alias");
	plumb_userfuncs_free(&found);
	assert_int_equal(plumb_userfuncs_find("./pie:plain", &found), 0);
	assert_null(found.list[0].aliases);
	assert_int_equal(found.list[0].size, strlen("<plain>"));
	plumb_userfuncs_free(&found);
	/* Without a size, to the next symbol. */
	assert_int_equal(plumb_userfuncs_find("./pie:inner", &found), 0);
	assert_int_equal(found.list[0].size, strlen("<inner>"));
	plumb_userfuncs_free(&found);
}

static void parts_and_clones_are_named(void **state)
{
	struct plumb_userfuncs found;
	const char *text;

	says("./pie:split", "the compiler kept only split.part.0, split.isra.0; name these\n");
	finds("./pie:split.part.0", "<part>");
	listen_to_stderr();
	finds("./pie:kept", "<kept>");
	text = said();
	check(strstr(text, "kept in ./pie: some calls may enter kept.constprop.0 instead: name "
			   "it, too\n"),
	      "%s", text);
	listen_to_stderr();
	finds("./pie:hot", "<hot>");
	assert_string_equal(said(), "");
	assert_int_equal(plumb_userfuncs_find("./pie:hot*", &found), 0);
	assert_int_equal(found.n, 2);
	assert_null(found.list[0].return_obstacle);
	assert_non_null(strstr(found.list[1].return_obstacle, "entered by a jump"));
	assert_null(found.list[1].obstacle);
	plumb_userfuncs_free(&found);
}

static void names_of_sources_match(void **state)
{
	assert_string_equal(names("./pie:ns::Class::method"),
			    "ns::Class::method(int),ns::Class::method()");
	finds("./pie:ns::Class::method(int)", "<int>");
	finds("./pie:ns::Class::method()", "<void>");
	finds("./pie:_ZN2ns5Class6methodEv", "<void>");
	finds("./pie:ns::Class::Class", "<constructor>");
	finds("./pie:ns::alone<int>", "<alone>");
	finds("./pie:ns::alone<int>(int)", "<alone>");
	finds("./pie:ns::al*", "<alone>");
	assert_string_equal(names("./pie:ns::al*"), "ns::alone<int>");
	finds("./pie:operator+", "<plus>");
	finds("./pie:operator+(A const&, A const&)", "<plus>");
	finds("./pie:crate::module::work", "<rust>");
	assert_string_equal(names("./pie:crate::mod*"), "crate::module::work,crate::modern");
	says("./pie:ns::Class::methud", "did you mean ns::Class::method");
}

static void implementations_of_an_ifunc_are_named(void **state)
{
	says("./pie:picked", "name that one, one of __picked_avx2, __picked_sse2\n");
}

/* --- symbols elsewhere --- */

static void add_debugdata(const char *from, const char *to)
{
	run("objcopy --only-keep-debug %s mini && xz -qf mini && "
	    "objcopy --strip-all --add-section .gnu_debugdata=mini.xz %s %s",
	    from, from, to);
}

static void symbols_of_debugdata_are_found(void **state)
{
	size_t size;
	char *data;

	add_debugdata("pie", "packed");
	finds("./packed:inner", "<inner>");
	finds("./packed:ns::Class::method(int)", "<int>");
	/* Damaged: what the file has itself is still found. */
	add_debugdata("lib.so", "packed.so");
	finds("./packed.so:inner", "<inner>");
	data = contents("packed.so", &size);
	memset((char *)memmem(data, size,
			      "\xfd"
			      "7zXZ",
			      5) +
		       30,
	       0, 20);
	write_file("packed.so", data, size);
	free(data);
	finds("./packed.so:plain", "<plain>");
	says("./packed.so:inner", "no function inner");
}

static void symbols_of_the_debug_file_are_found(void **state)
{
	run("objcopy --only-keep-debug fixed fixed.debug && "
	    "objcopy --strip-all --add-gnu-debuglink=fixed.debug fixed linked");
	finds("./linked:inner", "<inner>");
	run("mkdir -p .debug && mv fixed.debug .debug/");
	finds("./linked:inner", "<inner>");
	/* Another file has another CRC. */
	run("echo >>.debug/fixed.debug");
	says("./linked:inner", "has no function names (stripped; its debug file is of another");
	says(".debug/fixed.debug:inner", "has no function names (it is a debug file");
}

/* Removes the table of sections. */
static void behead(const char *from, const char *to)
{
	size_t size;
	char *data = contents(from, &size);
	Elf64_Ehdr *h = (void *)data;

	memset(data + h->e_shoff, 0, size - h->e_shoff);
	h->e_shoff = h->e_shnum = h->e_shstrndx = 0;
	write_file(to, data, size);
	free(data);
}

static void the_dynamic_segment_has_symbols_too(void **state)
{
	static const char *const hashes[] = {"gnu", "sysv", "both"};
	const char *refused;
	char all[1024];

	for (size_t i = 0; i < LENGTH(hashes); i++) {
		run("${CC:-cc} -nostdlib -DVERSIONS -fPIC -shared -Wl,--version-script=versions "
		    "-Wl,--hash-style=%s s.S -o whole.so",
		    hashes[i]);
		behead("whole.so", "headless.so");
		run("strip -o stripped.so whole.so");
		snprintf(all, sizeof(all), "%s", names("./stripped.so:*"));
		assert_string_equal(names("./headless.so:*"), all);
		finds("./headless.so:plain", "<plain>");
		finds("./headless.so:_RNvC5crate6modern", "<v0>");
		finds("./headless.so:versioned@OLD", "<old>");
		refused = complaint("./headless.so:inner");
		check(strstr(refused, "no function inner"), "%s: %s", hashes[i], refused);
	}
}

/* The last symbol is not the first of its bucket. */
static void the_last_symbol_of_a_chain_is_found(void **state)
{
	static const char two[] = ".globl one,two; .type one,%function; .type two,%function\n"
				  "one: .ascii \"<one>\"; two: .ascii \"<two>\"\n"
				  ".section .note.GNU-stack,\"\",%progbits\n";

	write_file("two.S", two, strlen(two));
	run("${CC:-cc} -nostdlib -fPIC -shared -Wl,--hash-style=gnu two.S -o two.so");
	behead("two.so", "headless.so");
	finds("./headless.so:one", "<one>");
	finds("./headless.so:two", "<two>");
}

static void damaged_dynamic_segments_do_no_damage(void **state)
{
	size_t size;
	char *data, was;
	struct plumb_userfuncs found;
	uint64_t random = 42;

	behead("lib.so", "headless.so");
	data = contents("headless.so", &size);
	listen_to_stderr();
	for (int i = 0; i < 3000; i++) {
		size_t at = next_random(&random) % (i % 2 ? 2048 : size);

		was = data[at];
		data[at] = next_random(&random);
		write_file("damaged", data, size);
		plumb_userfuncs_find("./damaged:*", &found);
		plumb_userfuncs_free(&found);
		data[at] = was;
	}
	said();
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_version_selects_its_function),
		cmocka_unit_test(a_function_with_several_names_is_one),
		cmocka_unit_test(parts_and_clones_are_named),
		cmocka_unit_test(names_of_sources_match),
		cmocka_unit_test(implementations_of_an_ifunc_are_named),
		cmocka_unit_test(symbols_of_debugdata_are_found),
		cmocka_unit_test(symbols_of_the_debug_file_are_found),
		cmocka_unit_test(the_dynamic_segment_has_symbols_too),
		cmocka_unit_test(the_last_symbol_of_a_chain_is_found),
		cmocka_unit_test(damaged_dynamic_segments_do_no_damage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
