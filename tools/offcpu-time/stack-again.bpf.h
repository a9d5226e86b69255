/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack-again: recognise exactly a kernel stack that was walked before.  For programs on
 * sched_switch, which run with interrupts off and on the thread's own stack.
 *
 * A thread usually leaves its CPU with the same stack as the last time.  On x86, a walk takes
 * 2 us; to compare the words that the walk would read takes a tenth of that.  Without it,
 * offcpu-time's programs take 1.8 times as long for a request of PostgreSQL and 2.0 times for one
 * of redis (6.18, AMD EPYC; tests/bench/README.md).
 *
 * The result of a walk depends only on code and on two kinds of words on the stack: the return
 * addresses (and interrupted instructions) that it reports, and pointers into the same stack, such
 * as saved frame pointers and stack pointers.  The next word that the walk reads is at a fixed
 * distance from the last one, or from where such a pointer leads; the code that it has just found
 * determines which.  So two stacks have the same trace if they have
 *
 *  - the same addresses at all places from which a walk took them, and
 *  - the same pointers, relative to the stack, at all places where the known stack had one.  These
 *    are a superset of those that a walk follows.
 *
 * Proof, by induction: as long as all words that the walk has read are equal, it is at the same
 * place in the same code, so the next word that it reads is at the same place.  That word is of one
 * of the two kinds, so it is equal.  If words differ, the stack is not recognised, which costs a
 * walk and is never wrong.
 *
 * The places of the addresses are an increasing sequence of words that hold the trace.  The walk's
 * own places are such a sequence; if there is no other, they are known.  If there are others,
 * because older calls have left copies in live frames, nothing is learned from that stack.  Nothing
 * is learned either while a return is traced (fgraph, rethook, kretprobe): then the walk reports
 * another address than the one on the stack.
 *
 * A stack is recognised as soon as its places are known.  Pointers that a walk does not follow
 * vary, and would often prevent recognition.  So a pointer is left out once it differs in a stack
 * of the same number whose addresses are at the same places: the pointers that a walk follows must
 * be equal there.  A frame of random size (CONFIG_RANDOMIZE_KSTACK_OFFSET, in the first function of
 * a system call) moves all that is below it.  Pointers then keep their distance either from the
 * context, which is on the stack, or from the top, where the user's registers are.  Both distances
 * are compared until one is found to vary, and so is the distance between context and top.  The
 * outermost address is at the top in any case.
 *
 * The first address of the trace is in the program that walks, always the same one; it is below
 * all that is compared.  (The proof does not hold for CONFIG_UNWINDER_GUESS, which reports any word
 * that looks like an address of code.  No distribution sets it.)
 *
 * Only numbers of stacks, addresses of code and distances are kept.  A CPU's copy of stack memory
 * is overwritten the next time, and the loader never reads it.
 */
#ifndef PLUMB_STACK_AGAIN_BPF_H
#define PLUMB_STACK_AGAIN_BPF_H

#include "stack-again-learn.bpf.h"

/* Return the number of the current thread's kernel stack.  LAST: its number the last time. */
static __always_inline __s32 stack_again(void *ctx, __s32 last, __u32 cpu)
{
	__u64 extent;
	__s32 number;

	if (!again_is_possible())
		return stack_number(ctx, 0, cpu);
	extent = again_extent(ctx);
	if (again_is(extent, last))
		return last;
	number = stack_number(ctx, 0, cpu); /* the only call: its address is in the trace */
	if (number >= 0)
		again_learn(extent, number);
	return number;
}

#endif
