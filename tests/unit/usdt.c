// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* usdt: probes of files made for it, by their offsets; of files that are broken; of what is here.
 */
#include "said.h"
#include "specimen.h"
#include <errno.h>
#include <plumb/user/usdt.h>

/*
 * As sys/sdt.h writes them, but for the code: that is a mark, so that its offset can be found
 * without any note.  MOVED is what prelink does: all is elsewhere than the notes say.
 */
static const char source[] =
	"#ifndef MOVED\n"
	"#define MOVED 0\n"
	"#endif\n"
	".macro note address, semaphore, provider, name, arguments\n"
	"  .pushsection .note.stapsdt,\"\",%note\n"
	"  .balign 4; .4byte 2f-1f, 4f-3f, 3\n"
	"1: .asciz \"stapsdt\"\n"
	"2: .balign 4\n"
	"3: .dc.a \\address - MOVED, _.stapsdt.base - MOVED, \\semaphore\n"
	"  .asciz \"\\provider\"; .asciz \"\\name\"; .asciz \"\\arguments\"\n"
	"4: .balign 4\n"
	"  .popsection\n"
	".endm\n"
	".section .stapsdt.base,\"a\"; _.stapsdt.base: .space 1\n"
	".data; counter: .ascii \"<counter>\"\n"
	".text; .globl start; start:\n"
	"one: .ascii \"<one>\"; note one, 0, app, begin, \"-4@%edi 8@%rsi\"\n"
	"two: .ascii \"<two>\"; note two, 0, app, end, \"\"\n"
	"three: .ascii \"<three>\"; note three, 0, app, begin, \"-4@%eax\"\n"
	"four: .ascii \"<four>\"; note four, counter-MOVED, other, begin, \"8@$0\"\n"
	"five: .ascii \"<five>\"; note one+0x7000000, 0, app, nowhere, \"\"\n"
	"six: .ascii \"<six>\"; note six, 0x7000000, app, uncounted, \"\"\n"
	".section .note.GNU-stack,\"\",%progbits\n";

/* Notes that are no probes, and one that is, behind them all. */
static const char odd[] =
	".text; .globl start; start: .ascii \"<last>\"\n"
	".section .note.stapsdt,\"\",%note\n"
	".4byte 8, 4, 3; .asciz \"stapsdt\"; .4byte 0\n"                        /* too short */
	".4byte 8, 24, 3; .asciz \"stapsdt\"; .space 24\n"                      /* no texts */
	".4byte 8, 28, 3; .asciz \"stapsdt\"; .space 24; .ascii \"abcd\"\n"     /* without an end */
	".4byte 8, 28, 3; .asciz \"stapsdt\"; .space 24; .ascii \"a\\0b\\0\"\n" /* one too few */
	".4byte 8, 32, 4; .asciz \"stapsdt\"; .8byte start, 0, 0; .ascii \"a\\0b\\0c\\0\\0\\0\"\n"
	".4byte 8, 32, 3; .asciz \"stapsd_\"; .8byte start, 0, 0; .ascii \"a\\0b\\0c\\0\\0\\0\"\n"
	".4byte 8, 32, 3; .asciz \"stapsdt\"; .8byte start, 0, 0; .ascii \"p\\0last\\0\\0\\0\"\n"
	".4byte 0x7fffffff, 0x7fffffff, 3\n" /* beyond the end */
	".section .note.GNU-stack,\"\",%progbits\n";

static void compile(const char *flags)
{
	char command[512];

	snprintf(command, sizeof(command), "${CC:-cc} -nostdlib -nostartfiles -Wl,-e,start %s",
		 flags);
	check(!system(command), "%s", command);
}

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_file("s.S", source, strlen(source));
	write_file("odd.S", odd, strlen(odd));
	compile("s.S -fPIE -pie -o pie");
	compile("s.S -fPIC -shared -o lib.so");
	compile("s.S -static -o fixed");
	compile("s.S -static -s -o stripped");
	compile("s.S -static -DMOVED=0x12340 -o moved");
	compile("odd.S -static -o odd");
	write_file("none.S", ".globl start; start: .ascii \"<none>\"\n", 36);
	compile("none.S -static -o none");
#if defined(__x86_64__)
	compile("s.S -m32 -fPIC -shared -o lib32.so");
#endif
	return 0;
}

/* What TARGET finds: "app:begin/2 app:end/1". */
static const char *found_by(const char *target)
{
	static char text[512];
	struct plumb_userfuncs found;
	size_t n = 0;

	check(!plumb_usdts_find(target, &found), "%s", target);
	check(found.n > 0, "%s", target);
	for (size_t i = 0; i < found.n; i++)
		n += snprintf(text + n, sizeof(text) - n, "%s%s/%zu", i ? " " : "",
			      found.list[i].name, found.list[i].n_places);
	plumb_userfuncs_free(&found);
	assert_int_equal(found.n, 0);
	return text;
}

static void names_and_globs_find_probes(void **state)
{
	assert_string_equal(found_by("./pie:app:begin"), "app:begin/2");
	assert_string_equal(found_by("./pie:app:end"), "app:end/1");
	assert_string_equal(found_by("./pie:*:begin"), "app:begin/2 other:begin/1");
	assert_string_equal(found_by("./pie:a*:*"), "app:begin/2 app:end/1");
	assert_string_equal(found_by("./pie:*:*"), "app:begin/2 app:end/1 other:begin/1");
	assert_string_equal(found_by("./stripped:*:*"), "app:begin/2 app:end/1 other:begin/1");
}

static void probes_of(const char *path)
{
	struct plumb_userfuncs found;
	char target[64];

	snprintf(target, sizeof(target), "./%s:*:*", path);
	check(!plumb_usdts_find(target, &found), "%s", target);
	assert_int_equal(found.n, 3);
	check(found.list[0].places[0].offset == offset_of_mark(path, "<one>"), "%s", path);
	check(found.list[0].places[1].offset == offset_of_mark(path, "<three>"), "%s", path);
	check(found.list[1].places[0].offset == offset_of_mark(path, "<two>"), "%s", path);
	check(found.list[2].places[0].offset == offset_of_mark(path, "<four>"), "%s", path);
	assert_string_equal(found.list[0].places[0].arguments, "-4@%edi 8@%rsi");
	assert_string_equal(found.list[0].places[1].arguments, "-4@%eax");
	assert_string_equal(found.list[1].places[0].arguments, "");
	check(!found.list[0].places[0].semaphore, "%s", path);
	check(found.list[2].places[0].semaphore == offset_of_mark(path, "<counter>"), "%s", path);
	plumb_userfuncs_free(&found);
}

static void places_are_those_of_the_code(void **state)
{
	static const char *const files[] = {
		"pie",
		"lib.so",
		"fixed",
		"stripped",
		"moved",
#if defined(__x86_64__)
		"lib32.so",
#endif
	};

	for (size_t i = 0; i < LENGTH(files); i++)
		probes_of(files[i]);
}

static void odd_notes_are_passed_over(void **state)
{
	assert_string_equal(found_by("./odd:*:*"), "p:last/1");
}

static void refused(const char *target, int error, const char *words)
{
	struct plumb_userfuncs found;
	const char *message;
	int err;

	listen_to_stderr();
	err = plumb_usdts_find(target, &found);
	message = said();
	check(err == -error, "%s: %d", target, err);
	check(strstr(message, words), "%s: %s", target, message);
	check(strchr(message, '\n') == message + strlen(message) - 1, "%s", message);
	assert_int_equal(found.n, 0);
}

static void what_is_not_there_is_said(void **state)
{
	refused("./pie:app:begun", ENOENT, "no USDT probe app:begun in ./pie; did you mean begin");
	refused("./pie:ap:begin", ENOENT,
		"no USDT probe ap:begin in ./pie; did you mean app:begin");
	refused("./pie:no:*", ENOENT, "no USDT probe no:* in ./pie");
	refused("./none:app:begin", ENOENT, "./none has no USDT probes");
	refused("./missing:app:begin", ENOENT, "missing");
	refused("./s.S:app:begin", ENOEXEC, "s.S is not a program or library");
	refused(".:app:begin", ENOENT, "no library or program");
	refused("./:app:begin", EINVAL, "is not a file");
	refused("./pie", EINVAL, "should be FILE:PROVIDER:NAME");
	refused("./pie:app", EINVAL, "should be FILE:PROVIDER:NAME");
	refused("./pie:app:", EINVAL, "should be FILE:PROVIDER:NAME");
	refused("./pie::begin", EINVAL, "should be FILE:PROVIDER:NAME");
	refused(":app:begin", EINVAL, "should be FILE:PROVIDER:NAME");
	refused("", EINVAL, "should be FILE:PROVIDER:NAME");
}

/* The table of sections is at the end. */
static void a_file_that_is_cut_off_is_not_said_to_have_none(void **state)
{
	size_t size;
	char *data = contents("pie", &size);

	write_file("cut", data, size / 2);
	refused("./cut:app:begin", ENOENT, "cut has no USDT probes, or is damaged");
	free(data);
}

/* Whatever is overwritten or cut off: there are probes, or it is said why not. */
static void broken_files_do_no_harm(void **state)
{
	static const char *const files[] = {"pie", "odd", "fixed"};
	uint64_t seed = 43;
	struct plumb_userfuncs found;
	size_t size, left, refusals = 0;
	char *data, *copy;

	listen_to_stderr();
	for (int round = 0; round < 3000; round++) {
		data = contents(files[round % 3], &size);
		copy = malloc(size);
		memcpy(copy, data, size);
		for (int i = round % 7; i >= 0; i--)
			copy[next_random(&seed) % size] = next_random(&seed);
		/* What says where everything is. */
		copy[next_random(&seed) % 64] ^= round % 2 ? 0 : next_random(&seed);
		left = round % 5 ? size : next_random(&seed) % size;
		write_file("broken", copy, left);
		refusals += plumb_usdts_find("./broken:*:*", &found) != 0;
		plumb_userfuncs_free(&found);
		free(copy);
		free(data);
	}
	said();
	assert_true(refusals > 30);
	assert_true(refusals < 2970);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_globs_find_probes),
		cmocka_unit_test(places_are_those_of_the_code),
		cmocka_unit_test(odd_notes_are_passed_over),
		cmocka_unit_test(what_is_not_there_is_said),
		cmocka_unit_test(a_file_that_is_cut_off_is_not_said_to_have_none),
		cmocka_unit_test(broken_files_do_no_harm),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
