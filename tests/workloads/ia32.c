// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ia32: 32-bit calls, by int $0x80 from 64-bit code, among native ones.
 *
 * In the 32-bit table getppid is number 64, which is semget in the native one; the native getppid's
 * number, 39, is mkdir in the 32-bit one.  getppid has no arguments: the registers of five
 * arguments hold 1 to 5, the first one also with bits above the lower 32.
 */
#include "workload.h"

const char usage[] =
	"Usage: ia32 COMPAT NATIVE\n"
	"Make COMPAT 32-bit and NATIVE native calls of getppid, in turn while both last.\n"
	"Exit status 77: this kernel has no 32-bit emulation.\n"
	"\n"
	"Gates: ready, go.\n";

#ifdef __x86_64__
#include <setjmp.h>

static sigjmp_buf no_emulation;

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(no_emulation, 1);
}

static long compat_call(long nr)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(nr), "b"(7ULL << 32 | 1), "c"(2), "d"(3), "S"(4), "D"(5)
		     : "r8", "r9", "r10", "r11", "memory");
	return (int)result;
}

static void probe(void)
{
	struct sigaction action = {.sa_handler = on_fault}, old;

	sigaction(SIGSEGV, &action, &old);
	if (sigsetjmp(no_emulation, 1)) {
		fputs("ia32: this kernel has no 32-bit emulation\n", stderr);
		exit(WORKLOAD_SKIP);
	}
	if (compat_call(20 /* getpid */) != getpid()) {
		fputs("ia32: this kernel refuses 32-bit calls\n", stderr);
		exit(WORKLOAD_SKIP);
	}
	sigaction(SIGSEGV, &old, NULL);
}
#else
static void probe(void)
{
	fputs("ia32: for x86_64 only\n", stderr);
	exit(WORKLOAD_SKIP);
}

static long compat_call(long nr)
{
	return nr;
}
#endif

int main(int argc, char **argv)
{
	uint64_t compat, native, i;
	pid_t parent;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("COMPAT and NATIVE are needed");
	compat = parse_number(argv[1], "COMPAT", 0, 10000000);
	native = parse_number(argv[2], "NATIVE", 0, 10000000);
	probe();
	reached("ready");
	gate("go");
	parent = -1;
	for (i = 0; i < compat || i < native; i++) {
		if (i < compat)
			parent = compat_call(64);
		if (i < native && syscall(SYS_getppid) != parent && i < compat)
			die("the two calls differ");
	}
	report_begin();
	put_plain_row("getppid", native, 0);
	put("%s", ",{\"compat\":true,");
	put_string("syscall", "getppid");
	put(",\"count\":%llu,\"errors\":0}", (unsigned long long)compat);
	report_end();
	return 0;
}
