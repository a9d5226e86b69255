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
	"Usage: ia32 COMPAT NATIVE [FILE]\n"
	"Make COMPAT 32-bit and NATIVE native calls of getppid, in turn while both last; with\n"
	"FILE, COMPAT each of 32-bit open, write, read (twice) and fsync of it instead.\n"
	"Exit status 77: this kernel has no 32-bit emulation.\n"
	"\n"
	"Gates: ready, go.\n";

#ifdef __x86_64__
#include <setjmp.h>
#include <sys/mman.h>

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

/* A call with the arguments A, B and C. */
static long compat_call_of(long nr, long a, long b, long c)
{
	long result;

	asm volatile("int $0x80"
		     : "=a"(result)
		     : "a"(nr), "b"(a), "c"(b), "d"(c)
		     : "r8", "r9", "r10", "r11", "memory");
	return (int)result;
}

/* The numbers are those of the 32-bit table. */
static void use_file(const char *path, uint64_t times)
{
	char *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long fd;

	if (low == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	snprintf(low, 4096, "%s", path);
	for (uint64_t i = 0; i < times; i++) {
		fd = compat_call_of(5 /* open */, (uintptr_t)low, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || compat_call_of(4 /* write */, fd, (uintptr_t)low, 4096) != 4096 ||
		    lseek(fd, 0, SEEK_SET) ||
		    compat_call_of(3 /* read */, fd, (uintptr_t)low + 4096, 1000) != 1000 ||
		    compat_call_of(3, fd, (uintptr_t)low + 4096, 1000) != 1000 ||
		    compat_call_of(118 /* fsync */, fd, 0, 0))
			die("%s: a 32-bit call failed", path);
		close(fd);
	}
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

static void use_file(const char *path, uint64_t times)
{
	(void)path;
	(void)times;
}
#endif

static void report_file(uint64_t times)
{
	static const struct {
		const char *op;
		unsigned int calls, bytes;
	} ops[] = {{"open", 1, 0}, {"write", 1, 4096}, {"read", 2, 2000}, {"fsync", 1, 0}};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		put_row_of("op", own_tid(), "ia32", ops[i].op, ops[i].calls * times, 0);
		put(",\"bytes\":%llu}", (unsigned long long)(ops[i].bytes * times));
	}
}

int main(int argc, char **argv)
{
	uint64_t compat, native, i;
	pid_t parent;

	help_if_asked(argc, argv);
	if (argc < 3 || argc > 4)
		misuse("COMPAT and NATIVE are needed");
	compat = parse_number(argv[1], "COMPAT", 0, 10000000);
	native = parse_number(argv[2], "NATIVE", 0, 10000000);
	probe();
	reached("ready");
	gate("go");
	if (argc == 4) {
		use_file(argv[3], compat);
		report_begin();
		report_file(compat);
		report_end();
		return 0;
	}
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
