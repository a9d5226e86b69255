// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * ia32: 32-bit calls, by int $0x80 from 64-bit code, among native ones.
 *
 * In the 32-bit table getppid is number 64, which is semget in the native one; the native getppid's
 * number, 39, is mkdir in the 32-bit one.  getppid has no arguments: the registers of five
 * arguments hold 1 to 5, the first one also with bits above the lower 32.
 *
 * On arm64 a process makes 32-bit calls only as a 32-bit program: after the native calls it becomes
 * arm32 (library/arm32.c) for the others, and this program again for its report.
 */
#include "workload.h"

const char usage[] =
	"Usage: ia32 COMPAT NATIVE [FILE]\n"
	"Make COMPAT 32-bit and NATIVE native calls of getppid, in turn while both last; with\n"
	"FILE, COMPAT each of 32-bit open, write, read (twice) and fsync of it instead.\n"
	"On arm64 the native ones come first, and arm32 has to be beside this program.\n"
	"Exit status 77: this kernel has no 32-bit emulation.\n"
	"\n"
	"Gates: ready, go.\n";

#ifdef __x86_64__
#include <setjmp.h>
#include <sys/mman.h>

static sigjmp_buf no_emulation;

static void on_fault(int signal)
{
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

static void make_calls(uint64_t compat, uint64_t native, char **argv)
{
	pid_t parent = -1;

	if (argv[3])
		use_file(argv[3], compat);
	for (uint64_t i = 0; !argv[3] && (i < compat || i < native); i++) {
		if (i < compat)
			parent = compat_call(64);
		if (i < native && syscall(SYS_getppid) != parent && i < compat)
			die("the two calls differ");
	}
}
#else
static void skip_without(const char *what)
{
	fprintf(stderr, "ia32: %s\n", what);
	exit(WORKLOAD_SKIP);
}

/* What is beside this program, in SELF. */
static const char *arm32(char *self)
{
	static char path[PATH_MAX + sizeof("arm32")];
	ssize_t n = readlinkat(AT_FDCWD, "/proc/self/exe", self, PATH_MAX - 1);

	if (n < 0)
		die("/proc/self/exe: %s", strerror(errno));
	self[n] = 0;
	snprintf(path, sizeof(path), "%.*s/arm32", (int)(strrchr(self, '/') - self), self);
	return path;
}

static void probe(void)
{
	char self[PATH_MAX];
	const char *path = arm32(self);
	int status = 0;
	pid_t child = vfork();

	if (!child) {
		execl(path, "arm32", "0", "-", NULL);
		_exit(errno == ENOENT ? 3 : 4);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		die("%s: %s", path, strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
		skip_without("there is no arm32 beside it");
	if (status)
		skip_without("this kernel runs no 32-bit programs");
}

/* 32-bit ones by a program that goes on as this one with --report. */
static void make_calls(uint64_t compat, uint64_t native, char **argv)
{
	char self[PATH_MAX];
	const char *path = arm32(self);

	for (uint64_t i = 0; !argv[3] && i < native; i++)
		syscall(SYS_getppid);
	execl(path, "arm32", argv[1], argv[3] ?: "-", self, "--report", argv[1], argv[2], argv[3],
	      NULL);
	die("%s: %s", path, strerror(errno));
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

static void report(uint64_t compat, uint64_t native, bool is_file)
{
	report_begin();
	if (is_file) {
		report_file(compat);
	} else {
		put_plain_row("getppid", native, 0);
		put("%s", ",{\"compat\":true,");
		put_string("syscall", "getppid");
		put(",\"count\":%llu,\"errors\":0}", (unsigned long long)compat);
	}
	report_end();
}

int main(int argc, char **argv)
{
	bool is_over = argc > 1 && !strcmp(argv[1], "--report");
	uint64_t compat, native;

	help_if_asked(argc, argv);
	argc -= is_over;
	argv += is_over;
	if (argc < 3 || argc > 4)
		misuse("COMPAT and NATIVE are needed");
	compat = parse_number(argv[1], "COMPAT", 0, 10000000);
	native = parse_number(argv[2], "NATIVE", 0, 10000000);
	if (!is_over) {
		probe();
		reached("ready");
		gate("go");
		make_calls(compat, native, argv);
	}
	report(compat, native, argc == 4);
	return 0;
}
