// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * arm32: the calls of ia32 on arm64, where only a 32-bit program makes 32-bit calls.
 *
 *	arm32 TIMES FILE [PROGRAM ARG...]
 *
 * TIMES calls of getppid with the arguments 1 to 5 or, if FILE is not "-", what ia32 does with it;
 *then PROGRAM goes on in the same process.  It has no C library, and fails without a message.
 */

enum {
	EXIT = 1,
	READ = 3,
	WRITE = 4,
	OPEN = 5,
	CLOSE = 6,
	EXECVE = 11,
	LSEEK = 19,
	GETPPID = 64,
	FSYNC = 118
};

static char text[4096], copy[1000];

static long call(long nr, long a, long b, long c)
{
	register long r0 asm("r0") = a;
	register long r1 asm("r1") = b;
	register long r2 asm("r2") = c;
	register long r3 asm("r3") = 4;
	register long r4 asm("r4") = 5;
	register long r7 asm("r7") = nr;

	asm volatile("svc 0" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r7) : "memory");
	return r0;
}

static void use_file(const char *path)
{
	long fd = call(OPEN, (long)path, 01102 /* O_RDWR | O_CREAT | O_TRUNC */, 0600);

	if (fd < 0 || call(WRITE, fd, (long)text, sizeof(text)) != sizeof(text) ||
	    call(LSEEK, fd, 0, 0) || call(READ, fd, (long)copy, sizeof(copy)) != sizeof(copy) ||
	    call(READ, fd, (long)copy, sizeof(copy)) != sizeof(copy) || call(FSYNC, fd, 0, 0))
		call(EXIT, 1, 0, 0);
	call(CLOSE, fd, 0, 0);
}

/* What the kernel puts on the stack of a new program. */
__attribute__((used)) static void begin(long *stack)
{
	char **argv = (char **)(stack + 1), **envp = argv + stack[0] + 1;
	long times = 0;

	if (stack[0] < 3)
		call(EXIT, 2, 0, 0);
	for (const char *p = argv[1]; *p; p++)
		times = 10 * times + *p - '0';
	for (; times > 0; times--)
		if (argv[2][0] == '-')
			call(GETPPID, 1, 2, 3);
		else
			use_file(argv[2]);
	if (!argv[3])
		call(EXIT, 0, 0, 0);
	call(EXECVE, (long)argv[3], (long)(argv + 3), (long)envp);
	call(EXIT, 1, 0, 0);
}

__attribute__((naked, used)) void _start(void)
{
	asm("mov r0, sp\n\tb begin");
}
