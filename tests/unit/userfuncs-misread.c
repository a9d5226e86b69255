/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Vector instructions that kernels take for jumps: a probe on one would damage the program. */
#include "specimen.h"
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <plumb/user/code.h>

#if defined(__x86_64__)
/* vpor %xmm0,%xmm0,%xmm1; vmovd %xmm1,%eax; ret */
static const unsigned char copies[] = {0xc5, 0xf9, 0xeb, 0xc8, 0xc5, 0xf9, 0x7e, 0xc8, 0xc3};

/* Returns VALUE, if all instructions at CODE are executed. */
static unsigned int copy(const void *code, unsigned int value)
{
	unsigned int result;

	asm volatile("vmovd %2, %%xmm0\n"
		     "vpxor %%xmm1, %%xmm1, %%xmm1\n"
		     "call *%1"
		     : "=a"(result)
		     : "r"(code), "r"(value)
		     : "xmm0", "xmm1", "memory", "cc");
	return result;
}

/* A uprobe at the beginning of PATH for this process; its descriptor, or -1. */
static int probe(const char *path)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	struct perf_event_attr attr = {.size = sizeof(attr), .config1 = (uintptr_t)path};

	if (!f || fscanf(f, "%u", &attr.type) != 1)
		return -1;
	fclose(f);
	return syscall(SYS_perf_event_open, &attr, getpid(), -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void what_the_kernel_does_not_execute_is_refused(void **state)
{
	unsigned int result = 0;
	const void *code;
	int event;

	if (!__builtin_cpu_supports("avx"))
		skip();
	write_file("copies", copies, sizeof(copies));
	code = (const void *)map_file("copies");
	assert_non_null(code);
	assert_int_equal(copy(code, 77), 77);
	event = probe("copies");
	if (event < 0)
		skip();
	for (int i = 0; i < 4; i++)
		result = copy(code, 77);
	close(event);
	check(result == 77 || plumb_code_obstacle(copies, sizeof(copies), false), "%u", result);
}

static void those_with_the_opcodes_of_jumps_are_refused(void **state)
{
	static const struct {
		unsigned char code[8];
		bool is_refused;
	} known[] = {
		{{0xc5, 0xf9, 0xeb, 0xc8}, true},             /* vpor */
		{{0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xce}, true}, /* vpbroadcastb, as in strchrnul */
		{{0xc5, 0xf9, 0x7e, 0xc8}, true},             /* vmovd */
		{{0xc5, 0xf8, 0x90, 0xc8}, true},             /* kmovw */
		{{0xc5, 0xf8, 0x57, 0xc0}, false},            /* vxorps: not taken for a push */
		{{0xc5, 0xf9, 0xfe, 0xc8}, false},            /* vpaddd */
		{{0xeb, 0x10}, false},                        /* jmp */
		{{0x74, 0x10}, false},                        /* je */
	};

	for (size_t i = 0; i < LENGTH(known); i++)
		check(!plumb_code_obstacle(known[i].code, sizeof(known[i].code), false) ==
			      !known[i].is_refused,
		      "%zu", i);
}

static int make_files(void **state)
{
	return make_specimens();
}
#endif

int main(void)
{
#if defined(__x86_64__)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_does_not_execute_is_refused),
		cmocka_unit_test(those_with_the_opcodes_of_jumps_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_files, remove_specimens);
#else
	puts("1..0 # SKIP vector instructions of x86_64");
	return 0;
#endif
}
