/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * again: recognise exactly a kernel stack that was walked before.  For programs on
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
#pragma once

#include <plumb/bpf/stack/again-known.bpf.h>

enum { AGAIN_UP, AGAIN_DOWN, AGAIN_KEEP };

/* From the bottom up: the lowest places of the addresses (at most AGAIN_FRAMES), in their order. */
static __always_inline void again_up(struct again_work *w, __u32 at)
{
	__u32 next = w->next;

	if (next < w->n && w->memory[at] == w->trace[next & (AGAIN_FRAMES - 1)]) {
		w->at[next & (AGAIN_FRAMES - 1)] = at;
		w->next = next + 1;
	}
}

/* From the top down: the highest places.  If one is not the lowest as well, it is ambiguous. */
static __always_inline void again_down(struct again_work *w, __u32 at)
{
	__u32 next = w->next - 1;

	if (next && w->memory[at] == w->trace[next & (AGAIN_FRAMES - 1)]) {
		w->ambiguous |= w->at[next & (AGAIN_FRAMES - 1)] != at;
		w->next = next;
	}
}

static __always_inline void again_keep(struct again_work *w, __u32 at)
{
	struct again_places *p = &w->places;
	__u32 n = p->n_pointers, pointer;

	pointer = again_pointer(w->memory[at], w->top - w->extent * 8ULL, at);
	if (!pointer || at < p->first)
		return;
	p->n_pointers = n + 1;
	if (n >= AGAIN_POINTERS) /* the count shows that they are too many */
		return;
	p->pointers[n] = pointer | AGAIN_BY_LOW | AGAIN_BY_TOP;
	p->pointer_at[n] = at - p->first;
	p->words = at - p->first + 1;
}

/* Process one word of the memory. */
__noinline int again_look(__u32 at, __u32 what)
{
	struct again_work *w = again_work();

	if (!w || at >= w->extent || at >= AGAIN_WORDS)
		return 0;
	if (what == AGAIN_UP)
		again_up(w, at);
	else if (what == AGAIN_DOWN)
		again_down(w, at);
	else
		again_keep(w, at);
	return 0;
}

/* Process a row of words.  As a global function of its own, it saves the verifier steps. */
__noinline int again_look_row(__u32 row, __u32 what)
{
	__u32 i;

	for (i = 0; i < AGAIN_ROW; i++)
		again_look(row * AGAIN_ROW + (what == AGAIN_DOWN ? AGAIN_ROW - 1 - i : i), what);
	return 0;
}

static __always_inline void again_look_all(__u32 what)
{
	const __u32 rows = AGAIN_WORDS / AGAIN_ROW;
	__u32 i;

	for (i = 0; i < rows; i++)
		again_look_row(what == AGAIN_DOWN ? rows - 1 - i : i, what);
}

/* Find the places of all addresses, in W.  False: one is missing or ambiguous. */
static __always_inline bool again_find(struct again_work *w)
{
	w->next = 1; /* the first address is below all that is compared */
	again_look_all(AGAIN_UP);
	if (w->next != w->n)
		return false;
	w->ambiguous = 0;
	again_look_all(AGAIN_DOWN);
	return !w->ambiguous && w->at[(w->n - 1) & (AGAIN_FRAMES - 1)] == w->extent - 1;
}

static __always_inline void again_begin(struct again_work *w, __s32 number)
{
	struct again_places *p = &w->places;
	__u32 i;

	p->n = 0;
	p->n_pointers = 0;
	p->words = 0;
	p->first =
		w->at[1] - 1; /* what the program saved is below the address that it returns to */
	p->extent = w->extent;
	p->varies = false;
	p->outermost = w->trace[(w->n - 1) & (AGAIN_FRAMES - 1)];
	again_look_all(AGAIN_KEEP);
	if (p->n_pointers > AGAIN_POINTERS)
		return;
	for (i = 1; i < AGAIN_FRAMES && i + 1 < w->n; i++) {
		p->addresses[i - 1] = w->trace[i];
		p->at[i - 1] = w->at[i] - p->first;
		p->n = i;
		if (p->at[i - 1] >= p->words)
			p->words = p->at[i - 1] + 1;
	}
	bpf_map_update_elem(&plumb_again, &number, p, BPF_NOEXIST);
}

/*
 * Keep the pointer of this INDEX only as far as it holds for the stack in the working memory.
 * As a global function of its own, it saves the verifier steps: 40,000 of 75,000.
 */
__noinline int again_refine_pointer(__s32 number, __u32 index, __u32 highest)
{
	struct again_places *p = bpf_map_lookup_elem(&plumb_again, &number);
	struct again_work *w = again_work();
	__u32 at, pointer;

	if (!p || !w || index >= AGAIN_POINTERS)
		return 0;
	pointer = p->pointers[index];
	at = p->first + p->pointer_at[index];
	if (p->varies && p->pointer_at[index] > highest)
		p->pointers[index] = 0;
	else if (at < AGAIN_WORDS)
		p->pointers[index] =
			(pointer & AGAIN_DISTANCE) |
			again_same(pointer, w->memory[at], w->top, w->extent, p->extent);
	return 0;
}

/*
 * If the addresses of a known stack are at the same places, leave out its pointers that differ.
 * Walks follow no pointers inside a frame of random size: its frame pointer leads to the caller.
 */
static __always_inline void again_refine(struct again_work *w, struct again_places *p, __s32 number)
{
	__u32 i, highest;

	for (i = 0; i < AGAIN_FRAMES && i < p->n; i++)
		if (w->at[(i + 1) & (AGAIN_FRAMES - 1)] != p->first + p->at[i])
			return;
	if (w->extent != p->extent)
		p->varies = true;
	highest = p->at[(p->n - 1) & (AGAIN_FRAMES - 1)];
	if (p->varies)
		p->words = highest + 1;
	for (i = 0; i < AGAIN_POINTERS && i < p->n_pointers; i++)
		again_refine_pointer(number, i, highest);
}

/* Count a walk of stack NUMBER; return whether to learn from it. */
static __always_inline bool again_tries_it(__s32 number)
{
	__u16 *tries = &again_tries[number & (AGAIN_STACKS - 1)];

	if (*tries == (__u16)-1)
		return false;
	++*tries;
	return *tries <= AGAIN_EAGER || *tries % AGAIN_PATIENT == 0;
}

/* Learn how to recognise stack NUMBER, which the current thread has. */
__noinline int again_learn(__u64 extent, __s32 number)
{
	struct again_work *w = again_work();
	struct plumb_stack *stack;
	struct again_places *p;
	__u32 size;

	if (!again_is_possible() || !w || !again_tries_it(number))
		return 0;
	stack = bpf_map_lookup_elem(&plumb_stacks, &number);
	if (!stack || stack->n < 3 || stack->n > AGAIN_FRAMES || !extent || extent > AGAIN_WORDS ||
	    again_is_traced())
		return 0;
	size = extent * 8;
	barrier_var(size); /* its bound is known to the compiler, not to older verifiers */
	if (size > sizeof(w->memory) ||
	    bpf_probe_read_kernel(w->memory, size, (void *)(again_top(w) - extent * 8)) ||
	    bpf_probe_read_kernel(w->trace, sizeof(w->trace), stack->addresses))
		return 0;
	w->extent = extent;
	w->n = stack->n;
	if (!again_find(w))
		return 0;
	p = bpf_map_lookup_elem(&plumb_again, &number);
	if (p)
		again_refine(w, p, number);
	else
		again_begin(w, number);
	return 0;
}

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
