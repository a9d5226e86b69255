/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* deep: a function that calls itself, and one that is inlined at the bottom. */
#include "workload.h"

/* Stacks are followed by frame pointers; a caller that is left by a jump is none. */
#pragma GCC optimize("no-omit-frame-pointer", "no-shrink-wrap", "no-optimize-sibling-calls")

const char usage[] = "Usage: deep FRAMES TIMES\n"
		     "Call descend(), FRAMES deep, and at the bottom, in at_bottom(), which is\n"
		     "inlined, give the thread its name. TIMES times.\n"
		     "\n"
		     "Gates: ready, go.\n";

/* Time to look at this process, which will be gone when names are asked for. */
#define LINGER_NS 300000000

/* By its own instruction, so that no function of libc's stands between. */
__attribute__((always_inline)) static inline void at_bottom(const char *name)
{
#ifdef __x86_64__
	long result;

	asm volatile("syscall\n\tnop" /* where the thread is then is inlined, too */
		     : "=a"(result)
		     : "a"(SYS_prctl), "D"(PR_SET_NAME), "S"(name)
		     : "rcx", "r11", "memory");
#else
	prctl(PR_SET_NAME, name);
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

int main(int argc, char **argv)
{
	uint64_t frames, times;

	help_if_asked(argc, argv);
	if (argc != 3)
		misuse("two numbers are needed");
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
