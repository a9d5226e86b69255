/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack, again: recognise a kernel stack that was walked before, exactly.  For programs on
 * sched_switch: with interrupts off, on the thread's own stack.
 *
 * A thread mostly leaves its CPU where it left it before.  A walk takes 2 us; to compare the
 * words that the walk would read takes a tenth of that.
 *
 * What a walk finds depends on nothing but code and two kinds of words on the stack: the return
 * addresses (and interrupted instructions) that it reports, and pointers into the same stack, as
 * saved frame pointers and stack pointers are.  The next word that it reads is at a fixed
 * distance from the last one, or from where such a pointer leads; which of these, the code says
 * that it has just found.  So two stacks have the same trace if they have
 *
 *  - the same addresses at all the places from which a walk took them, and
 *  - the same pointers, relative to the stack, at all places where the known stack had one:
 *    a superset of those that a walk follows.
 *
 * Proof, by induction: as long as all words that the walk has read are equal, it stands at the
 * same place in the same code, so the next word that it reads is at the same place; that word
 * is one of the above, so it is equal.  A place where they differ ends in "not recognised",
 * which costs a walk and is never wrong.
 *
 * The places of the addresses are those of an increasing sequence of words that hold the trace.
 * The walk's own is one; where it is the only one, it is known.  Where there are several, because
 * older calls have left copies inside of living frames, nothing is learned from that stack.
 * Neither is it while a return is traced (fgraph, rethook, kretprobe): the walk reports another
 * address then than the one that is on the stack.
 *
 * So a stack is recognised from the first time on that its places are known.  Pointers that are
 * not the walk's vary, and would keep it from being recognised often.  Therefore those that are
 * found to be others in a stack of the same number whose addresses are known to be at the same
 * places are left out: pointers that lead a walk have to be the same there.  A frame of random
 * size (CONFIG_RANDOMIZE_KSTACK_OFFSET, in the first function of a system call) moves all below
 * it: pointers keep their distance either from the context, which lies on the stack, or from the
 * top, where the user's registers are.  Both are asked for until one is found to vary; and so is
 * the distance between the two.  The outermost address is at the top in any case.
 *
 * The first address of the trace is in the program that walks, at one place; it is below all
 * that is compared.  (CONFIG_UNWINDER_GUESS, which no distribution has, reports any word
 * that looks like an address of code, and is beyond this proof.)
 *
 * Only numbers of stacks, addresses of code and distances are kept.  A CPU's copy of the
 * memory is overwritten the next time, and the loader never reads it.
 */
#ifndef PLUMB_STACK_AGAIN_BPF_H
#define PLUMB_STACK_AGAIN_BPF_H

#include "stack-again-learn.bpf.h"

/* The number of the current thread's kernel stack, which was LAST the last time. */
static __always_inline __s32 stack_again(void *ctx, __s32 last, __u32 cpu)
{
	__u64 extent;
	__s32 number;

	if (!again_is_possible())
		return stack_number(ctx, 0, cpu);
	extent = again_extent(ctx);
	if (again_is(extent, last))
		return last;
	number = stack_number(ctx, 0, cpu); /* at one place, whose address is in the stack */
	if (number >= 0)
		again_learn(extent, number);
	return number;
}

#endif
