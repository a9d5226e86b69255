// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * nops: functions that keep their argument below the stack pointer while they pass a 5-byte nop,
 * and functions that begin with a nop of 5 or 10 bytes, which a child calls as well.
 */
#include <stdio.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 1009

#if defined(__x86_64__)
#undef _SDT_NOP
#define _SDT_NOP                                                                                   \
	.byte 0x0f;                                                                                \
	.byte 0x1f;                                                                                \
	.byte 0x44;                                                                                \
	.byte 0;                                                                                   \
	.byte 0

/* The nop is at offset 5. */
asm(".text\n"
    ".globl nops_leaf\n"
    ".type nops_leaf, @function\n"
    "nops_leaf:\n"
    "	movq %rdi, -8(%rsp)\n"
    "	.byte 0x0f, 0x1f, 0x44, 0, 0\n"
    "	movq -8(%rsp), %rax\n"
    "	ret\n"
    ".size nops_leaf, . - nops_leaf\n");
long nops_leaf(long n);

#define ENTRY(name, instructions)                                                                  \
	asm(".globl " #name "\n.type " #name ", @function\n" #name ":\n" instructions              \
	    "\nret\n.size " #name ", . - " #name "\n");                                            \
	long name(long n, int times)
#define NOP5  ".byte 0x0f, 0x1f, 0x44, 0, 0\n"
#define NOP10 ".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
#define TAKE  "push %rdi; pop %rax"

ENTRY(nops_entry, NOP5 TAKE);
ENTRY(nops_landing, "endbr64\n" NOP5 TAKE);
ENTRY(nops_long, NOP10 TAKE);
/* What follows the nop is no entry: a loop begins there. */
ENTRY(nops_loop, NOP5 "1: push %rdi; pop %rax; sub $1, %esi; jg 1b");

/* Makes the calls; returns how many have lost their argument. */
static int enter(void)
{
	int damaged = 0;

	for (long i = 1; i <= CALLS; i++)
		damaged += (nops_entry(i, 3) != i) + (nops_landing(i, 3) != i) +
			   (nops_long(i, 3) != i) + (nops_loop(i, 3) != i);
	return damaged;
}

/* The same in a child too, which has the code as the probes have changed it. */
static int enter_twice(void)
{
	int damaged = enter(), status = 1;

	if (!fork())
		_exit(!!enter());
	wait(&status);
	fprintf(stderr, "replaced %d\n", *(volatile unsigned char *)nops_long == 0x48);
	return damaged + !!status;
}
#else
static int enter_twice(void)
{
	return 0;
}

__attribute__((noinline)) long nops_leaf(long n)
{
	asm volatile("" : "+r"(n));
	return n;
}
#endif

__attribute__((noinline)) static long nops_usdt(long n)
{
	volatile long kept = n;

	STAP_PROBE(app, leaf);
	return kept;
}

/* Prints how many calls have lost their argument. */
int main(void)
{
	int damaged = enter_twice();

	for (long i = 1; i <= CALLS; i++)
		damaged += (nops_leaf(i) != i) + (nops_usdt(i) != i);
	fprintf(stderr, "damaged %d\n", damaged);
	return 0;
}
