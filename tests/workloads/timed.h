/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * timed: a call between two reads of the CPU's clock, by a caller that knows of which calls its
 * time is longer than the call: those after which its own instructions lost the CPU, before the
 * second read.
 *
 * The kernel tells it by restartable sequences (rseq(2)): it goes on elsewhere if it lost the CPU
 * in the instructions before the call, from the first read on, which are then repeated; or in those
 * after the call, of which the one that says so is not watched, and one that saves the result.
 */
#pragma once

#include "workload.h"

#if defined(__x86_64__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>

static inline bool timed_knows(void)
{
	return __rseq_size;
}

#define timed_rseq ((struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset))

static inline uint64_t timed_now(void)
{
	return __builtin_ia32_rdtsc();
}

/* CALL ends the first sequence (11) where its own instruction begins to be the kernel's, and saves
 * its result. */
#define TIMED(call)                                                                                \
	".pushsection .data.timed, \"aw\"\n"                                                       \
	".balign 32\n"                                                                             \
	"1: .long 0, 0\n"                                                                          \
	".quad 10f, 11f - 10f, 12f\n"                                                              \
	"2: .long 0, 0\n"                                                                          \
	".quad 20f, 21f - 20f, 22f\n"                                                              \
	".popsection\n"                                                                            \
	"9: lea 1b(%%rip), %%rax\n"                                                                \
	"mov %%rax, %[watched]\n"                                                                  \
	"lea 2b(%%rip), %[second]\n"                                                               \
	"10: rdtsc\n"                                                                              \
	"shl $32, %%rdx\n"                                                                         \
	"or %%rdx, %%rax\n"                                                                        \
	"mov %%rax, %[began]\n" call "mov %[second], %[watched]\n"                                 \
	"20: rdtsc\n"                                                                              \
	"shl $32, %%rdx\n"                                                                         \
	"or %%rdx, %%rax\n"                                                                        \
	"mov %%rax, %[ended]\n"                                                                    \
	"21: movq $0, %[watched]\n"                                                                \
	"jmp 30f\n"                                                                                \
	".long %c[signature]\n"                                                                    \
	"12: jmp 9b\n"                                                                             \
	".long %c[signature]\n"                                                                    \
	"22: movb $1, %[stopped]\n"                                                                \
	"mov %[second], %[watched]\n"                                                              \
	"jmp 20b\n"                                                                                \
	"30:\n"

/* The call's time in ticks; *STOPPED is set if it is known to be longer than the call. */
static inline uint64_t timed_call(bool *stopped, long *result, long nr, long a, const void *b,
				  long c, long d)
{
	register long fourth __asm__("r10") = d, fifth __asm__("r8") = 0;
	uint64_t began, ended, second;

	__asm__ volatile(TIMED("mov %[nr], %%rax\n"
			       "mov %[third], %%rdx\n"
			       "syscall\n"
			       "11: mov %%rax, %[result]\n")
			 : [began] "=m"(began), [ended] "=&r"(ended), [second] "=&r"(second),
			   [result] "=&r"(*result), [stopped] "+m"(*stopped),
			   [watched] "+m"(timed_rseq->rseq_cs)
			 : [nr] "m"(nr), "D"(a), "S"(b), [third] "r"(c), "r"(fourth),
			   "r"(fifth), [signature] "i"(RSEQ_SIG)
			 : "rax", "rcx", "rdx", "r11", "memory", "cc");
	return ended - began;
}

static inline uint64_t timed_touch(bool *stopped, char *at)
{
	uint64_t began, ended, second;

	__asm__ volatile(TIMED("11: movb $1, (%[at])\n")
			 : [began] "=m"(began), [ended] "=&r"(ended), [second] "=&r"(second),
			   [stopped] "+m"(*stopped), [watched] "+m"(timed_rseq->rseq_cs)
			 : [at] "r"(at), [signature] "i"(RSEQ_SIG)
			 : "rax", "rdx", "memory", "cc");
	return ended - began;
}

#else

static inline bool timed_knows(void)
{
	return false;
}

static inline uint64_t timed_now(void)
{
	return now_ns();
}

static inline uint64_t timed_call(bool *stopped, long *result, long nr, long a, const void *b,
				  long c, long d)
{
	uint64_t began = now_ns();

	*stopped = true;
	*result = syscall(nr, a, b, c, d, 0, 0);
	return now_ns() - began;
}

static inline uint64_t timed_touch(bool *stopped, char *at)
{
	uint64_t began = now_ns();

	*stopped = true;
	*(volatile char *)at = 1;
	return now_ns() - began;
}

#endif
