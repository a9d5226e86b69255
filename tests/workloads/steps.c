// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* steps: what its own functions cost while they are traced, by their first instructions, and a
 * switch. */
#include "cpus.h"

#include <pthread.h>

const char usage[] =
	"Usage: steps\n"
	"Call steps_emulated and steps_stepped in batches; \"min\" of each row is ns of a call in "
	"the\n"
	"fastest batch. At a uprobe, the kernel emulates the first instruction of the one, and\n"
	"single-steps that of the other.\n"
	"\"switch\" is half of a turn of two threads that wake each other on one CPU.\n"
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

/* --- two threads, which wake each other --- */

static int to[2], back[2];

static void transfer(long nr, int fd)
{
	char byte = 0;

	if (syscall(nr, fd, &byte, 1) != 1)
		die("pipe: %s", strerror(errno));
}

static void *answer(void *unused)
{
	for (int i = 0; i < CALLS * BATCHES; i++) {
		transfer(SYS_read, to[0]);
		transfer(SYS_write, back[1]);
	}
	return unused;
}

static void take_turns(void)
{
	transfer(SYS_write, to[1]);
	transfer(SYS_read, back[0]);
}

static uint64_t fastest_switch(void)
{
	pthread_t partner;
	uint64_t best;

	pin_to_last_cpu();
	if (pipe(to) || pipe(back) || pthread_create(&partner, NULL, answer, NULL))
		die("a pair: %s", strerror(errno));
	best = fastest(take_turns) / 2;
	pthread_join(partner, NULL);
	return best;
}

static void put_least(const char *name, uint64_t least)
{
	put_row_of("function", own_tid(), "steps", name, CALLS * BATCHES, 0);
	put(",\"min\":%llu}", (unsigned long long)least);
}

int main(int argc, char **argv)
{
	uint64_t emulated, stepped, switched;

	help_if_asked(argc, argv);
	if (argc != 1)
		misuse("there is no argument");
	reached("ready");
	gate("go");
	emulated = fastest(steps_emulated);
	stepped = fastest(steps_stepped);
	switched = fastest_switch();
	report_begin();
	put_least("steps_emulated", emulated);
	put_least("steps_stepped", stepped);
	put_least("switch", switched);
	report_end();
	return 0;
}
