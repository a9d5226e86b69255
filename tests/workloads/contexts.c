// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* contexts: two coroutines on stacks of their own, which go on in turns, inside a function. */
#include "workload.h"
#include <ucontext.h>

const char usage[] = "Usage: contexts\n"
		     "Two coroutines call context_turn() 50 times each, and each call goes on in "
		     "the other one.\n";

#define TURNS 50

static ucontext_t coroutines[2], main_context;
static char stacks[2][65536];
static int turns[2];

/* An entry and a return of its own. */
__attribute__((noipa, noinline)) static void context_turn(int self)
{
	turns[self]++;
	swapcontext(&coroutines[self], &coroutines[!self]);
	asm volatile("");
}

static void run(int self)
{
	for (int i = 0; i < TURNS; i++)
		context_turn(self);
}

int main(int argc, char **argv)
{
	help_if_asked(argc, argv);
	if (argc > 1)
		misuse("too many arguments");
	for (int i = 0; i < 2; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stacks[i];
		coroutines[i].uc_stack.ss_size = sizeof(stacks[i]);
		coroutines[i].uc_link = &main_context;
		makecontext(&coroutines[i], (void (*)(void))run, 1, i);
	}
	swapcontext(&main_context, &coroutines[0]);
	report_begin();
	put_row_of("function", own_tid(), "contexts", "context_turn", turns[0] + turns[1], 0);
	put("}");
	report_end();
	return 0;
}
