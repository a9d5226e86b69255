// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* userfuncs: where functions were inlined; marks in the code show it. */
#include "specimen.h"
#include <fcntl.h>
#include <unistd.h>
#include <plumb/user/userfuncs.h>

/* A mark is in an instruction: on x86 it is the displacement of a nop. */
#if defined(__x86_64__)
#define MARK   "#define MARK(m) asm volatile(\".byte 0x0f, 0x1f, 0x80; .ascii \" #m)\n"
#define BEFORE 3
#else
#define MARK   "#define MARK(m) asm volatile(\".ascii \" #m)\n"
#define BEFORE 0
#endif

static const char source[] =
	MARK "#define ALWAYS static inline __attribute__((always_inline))\n"
	     "ALWAYS void inner(void) { MARK(\"<in>\"); }\n"
	     "ALWAYS void middle(void) { MARK(\"<mi>\"); inner(); }\n"
	     "__attribute__((noinline)) void one(void) { MARK(\"<1->\"); middle(); }\n"
	     "__attribute__((noinline)) void two(void) { MARK(\"<2->\"); inner(); inner(); }\n"
	     "void _start(void) { one(); two(); }\n";

static int make_files(void **state)
{
	if (make_specimens())
		return -1;
	write_file("s.c", source, strlen(source));
	return 0;
}

static int find(const char *path, const char *function, struct plumb_userfuncs *found,
		struct plumb_inlined *facts)
{
	int fd = open(path, O_RDONLY), err;

	err = plumb_userfuncs_inlined(fd, path, function, found, facts);
	close(fd);
	return err;
}

/* FUNCTION was inlined where each MARK is, and nowhere else. */
static void is_inlined(const char *file, const char *function, const char *mark, size_t n)
{
	struct plumb_userfuncs found;
	struct plumb_inlined facts;
	char *data, *at;
	size_t size;

	check(!find(file, function, &found, &facts), "%s:%s", file, function);
	assert_true(facts.known);
	assert_int_equal(facts.lost, 0);
	check(found.n == n, "%s:%s: %zu", file, function, found.n);
	at = data = contents(file, &size);
	for (size_t i = 0; i < n; i++) {
		at = memmem(at, size - (at - data), mark, strlen(mark));
		check(at && found.list[i].offset == (size_t)(at - data) - BEFORE, "%s %zu",
		      function, i);
		assert_null(found.list[i].obstacle);
		assert_string_equal(found.list[i].name, function);
		assert_non_null(found.list[i].return_obstacle);
		at++;
	}
	free(data);
	plumb_userfuncs_free(&found);
}

static void each_place_is_found(void **state)
{
	static const char *const flags[] = {"-gdwarf-4", "-gdwarf-5", "-g -static -gz", "-g -O1"};
	struct plumb_inlined facts;

	for (size_t i = 0; i < LENGTH(flags); i++) {
		struct plumb_userfuncs found;

		run("${CC:-cc} -O2 -nostdlib %s s.c -o file", flags[i]);
		is_inlined("./file", "inner", "<in>", 3);
		is_inlined("./file", "middle", "<mi>", 1);
		is_inlined("./file", "two", "", 0);
		run("objcopy --only-keep-debug file file.debug && "
		    "objcopy --strip-all --add-gnu-debuglink=file.debug file linked");
		is_inlined("./linked", "inner", "<in>", 3);
		run("strip -o bare file");
		assert_int_equal(find("./bare", "inner", &found, &facts), 0);
		assert_false(facts.known);
		assert_int_equal(found.n, 0);
		plumb_userfuncs_free(&found);
	}
}

static void damaged_files_do_no_damage(void **state)
{
	size_t size;
	char *data, was;
	struct plumb_userfuncs found;
	uint64_t random = 42;
	struct plumb_inlined facts;

	run("${CC:-cc} -O2 -nostdlib -g s.c -o file");
	data = contents("file", &size);
	for (int i = 0; i < 2000; i++) {
		size_t at = 64 + next_random(&random) % (size - 64);

		was = data[at];
		data[at] = next_random(&random);
		write_file("damaged", data, size);
		if (!find("./damaged", "*", &found, &facts))
			plumb_userfuncs_free(&found);
		data[at] = was;
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_is_found),
		cmocka_unit_test(damaged_files_do_no_damage),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
}
