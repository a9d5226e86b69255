// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* callpaths: two call paths to one function, each taken a known number of times. */
#include "workload.h"

/* User stacks are walked by frame pointers; a caller that makes a tail call is not found. */
#pragma GCC optimize("no-omit-frame-pointer", "no-shrink-wrap", "no-optimize-sibling-calls")

const char usage[] = "Usage: callpaths LEFT RIGHT\n"
		     "Come to reach() by left_path() LEFT times, and in another thread by\n"
		     "right_path() RIGHT times, through pass() both. reach() writes a byte to\n"
		     "/dev/null, by its own instruction, and gives the thread its name again.\n"
		     "\n"
		     "Gates: ready, go.\n";

/* Time for a tool to read this process, which will be gone when its symbols are looked up. */
#define LINGER_NS 300000000

static int null;
static uint64_t left, right;

/* Not by a function of libc, which would be in the stack. */
static inline long call(long number, long a, const void *b, long c)
{
#ifdef __x86_64__
	long result;

	asm volatile("syscall"
		     : "=a"(result)
		     : "a"(number), "D"(a), "S"(b), "d"(c)
		     : "rcx", "r11", "memory");
	return result;
#else
	register long x0 asm("x0") = a, x2 asm("x2") = c, x8 asm("x8") = number;
	register const void *x1 asm("x1") = b;

	asm volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8) : "memory");
	return x0;
#endif
}

__attribute__((noinline, noclone)) static void reach(const char *name)
{
	if (call(SYS_write, null, name, 1) != 1)
		die("/dev/null does not take a byte");
	call(SYS_prctl, PR_SET_NAME, name, 0);
}

__attribute__((noinline, noclone)) static void pass(const char *name)
{
	reach(name);
	asm volatile("");
}

__attribute__((noinline, noclone)) static void left_path(const char *name)
{
	for (uint64_t i = 0; i < left; i++)
		pass(name);
}

__attribute__((noinline, noclone)) static void right_path(const char *name)
{
	for (uint64_t i = 0; i < right; i++)
		pass(name);
}

static void *go_right(void *unused)
{
	right_path("path-right");
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("two numbers are needed");
	left = parse_number(argv[1], "LEFT", 0, 1000000);
	right = parse_number(argv[2], "RIGHT", 0, 1000000);
	null = open_uncounted("/dev/null", O_WRONLY);
	if (null < 0)
		die("/dev/null: %s", strerror(errno));
	reached("ready");
	gate("go");
	left_path("path-left");
	if (pthread_create(&thread, NULL, go_right, NULL))
		die("cannot create a thread");
	pthread_join(thread, NULL);
	pause_ns(LINGER_NS);
	report_begin();
	put_plain_row("write", left + right, 0);
	report_end();
	return 0;
}
