// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* steps: what its own functions cost while they are traced, by their first instructions. */
#include "workload.h"

const char usage[] =
	"Usage: steps\n"
	"Call steps_emulated and steps_stepped in batches; \"min\" of each row is ns of a call in "
	"the\n"
	"fastest batch. At a uprobe, the kernel emulates the first instruction of the one, and\n"
	"single-steps that of the other.\n"
	"\n"
	"Gates: ready, go.\n";

#define CALLS   50
#define BATCHES 101

void steps_emulated(void);
void steps_stepped(void);

#if defined(__x86_64__)
#define EMULATED "push %rbx\n pop %rbx\n"
#define STEPPED  "mov %eax, %eax\n"
#else
#define EMULATED "b 1f\n1:\n"
#define STEPPED  "mov w9, w9\n"
#endif

asm(".pushsection .text\n"
    ".globl steps_emulated, steps_stepped\n"
    ".type steps_emulated, %function\n.type steps_stepped, %function\n"
    "steps_emulated:\n" EMULATED "ret\n.size steps_emulated, . - steps_emulated\n"
    "steps_stepped:\n" STEPPED "ret\n.size steps_stepped, . - steps_stepped\n"
    ".popsection\n");

static uint64_t fastest(void (*function)(void))
{
	uint64_t best = UINT64_MAX, start, took;

	for (int i = 0; i < BATCHES; i++) {
		start = now_ns();
		for (int j = 0; j < CALLS; j++)
			function();
		took = now_ns() - start;
		best = took < best ? took : best;
	}
	return best / CALLS;
}

int main(int argc, char **argv)
{
	uint64_t emulated, stepped;

	help_if_asked(argc, argv);
	if (argc != 1)
		misuse("there is no argument");
	reached("ready");
	gate("go");
	emulated = fastest(steps_emulated);
	stepped = fastest(steps_stepped);
	report_begin();
	put_row_of("function", own_tid(), "steps", "steps_emulated", CALLS * BATCHES, 0);
	put(",\"min\":%llu}", (unsigned long long)emulated);
	put_row_of("function", own_tid(), "steps", "steps_stepped", CALLS * BATCHES, 0);
	put(",\"min\":%llu}", (unsigned long long)stepped);
	report_end();
	return 0;
}
