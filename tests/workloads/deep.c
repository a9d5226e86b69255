/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* deep: a recursive function with an inlined one at the bottom, or always different stacks. */
#include "workload.h"

/* User stacks are walked by frame pointers; a caller that makes a tail call is not found. */
#pragma GCC optimize("no-omit-frame-pointer", "no-shrink-wrap", "no-optimize-sibling-calls")

const char usage[] =
	"Usage: deep FRAMES TIMES\n"
	"       deep wild MAPPINGS\n"
	"       deep many STACKS\n"
	"\n"
	"Call descend(), FRAMES deep, and at the bottom, in at_bottom(), which is\n"
	"inlined, give the thread its name. TIMES times.\n"
	"wild: sleep, below stray_left() and stray_right() each time in another order,\n"
	"with so many mappings of code besides, until \"end\".\n"
	"many: give the thread its name, below them, by so many different stacks.\n"
	"\n"
	"Gates: ready, go, end.\n";

/* Time for a tool to read this process, which will be gone when its symbols are looked up. */
#define LINGER_NS 300000000

/* By its own instruction, so that no function of libc is in the stack. */
__attribute__((always_inline)) static inline void at_bottom(const char *name)
{
	/* A nop, since the return address is to be inlined, too. */
#ifdef __x86_64__
	long result;

	asm volatile("syscall\n\tnop"
		     : "=a"(result)
		     : "a"(SYS_prctl), "D"(PR_SET_NAME), "S"(name)
		     : "rcx", "r11", "memory");
#else
	register long x0 asm("x0") = PR_SET_NAME, x8 asm("x8") = SYS_prctl;
	register const char *x1 asm("x1") = name;

	asm volatile("svc 0\n\tnop" : "+r"(x0) : "r"(x1), "r"(x8) : "memory");
#endif
}

__attribute__((noinline, noclone)) static void descend(uint64_t frames)
{
	if (frames > 1)
		descend(frames - 1);
	else
		at_bottom("deep");
	asm volatile("");
}

static bool names_it;

static void at_end(void)
{
	if (names_it)
		at_bottom("deep");
	else
		pause_ns(1000);
}

static void stray_right(uint64_t bits, int frames);

__attribute__((noinline)) static void stray_left(uint64_t bits, int frames)
{
	if (!frames)
		at_end();
	else
		(bits & 1 ? stray_left : stray_right)(bits >> 1, frames - 1);
	asm volatile("");
}

__attribute__((noinline)) static void stray_right(uint64_t bits, int frames)
{
	if (!frames)
		at_end();
	else
		(bits & 1 ? stray_left : stray_right)(bits >> 1, frames - 1);
	asm volatile("");
}

static int run_wild(uint64_t mappings)
{
	/* One page each, with alternating protection, so that the kernel does not merge them. */
	for (uint64_t i = 0; i < mappings; i++)
		if (mmap(NULL, 4096, PROT_EXEC | (i % 2 ? PROT_READ : PROT_WRITE),
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			die("mmap: %s", strerror(errno));
	reached("ready");
	for (uint64_t i = 0; !is_open("end"); i++)
		stray_left(i * 0x9e3779b97f4a7c15ULL >> 40, 20);
	return 0;
}

static int run_many(uint64_t stacks)
{
	reached("ready");
	gate("go");
	names_it = true;
	for (uint64_t i = 0; i < stacks; i++)
		stray_left(i, 20);
	pause_ns(LINGER_NS);
	report_begin();
	put_plain_row("prctl", stacks, 0);
	report_end();
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t frames, times;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("two numbers are needed");
	if (!strcmp(argv[1], "wild"))
		return run_wild(parse_number(argv[2], "MAPPINGS", 1, 30000));
	if (!strcmp(argv[1], "many"))
		return run_many(parse_number(argv[2], "STACKS", 1, 1 << 20));
	frames = parse_number(argv[1], "FRAMES", 1, 10000);
	times = parse_number(argv[2], "TIMES", 0, 1000000);
	reached("ready");
	gate("go");
	for (uint64_t i = 0; i < times; i++)
		descend(frames);
	pause_ns(LINGER_NS);
	report_begin();
	put_plain_row("prctl", times, 0);
	report_end();
	return 0;
}
