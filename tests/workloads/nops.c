// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* nops: functions that keep their argument below the stack pointer while they pass a 5-byte nop. */
#include <stdio.h>
#include <sys/sdt.h>

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
#else
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
	int damaged = 0;

	for (long i = 1; i <= CALLS; i++)
		damaged += (nops_leaf(i) != i) + (nops_usdt(i) != i);
	fprintf(stderr, "damaged %d\n", damaged);
	return 0;
}
