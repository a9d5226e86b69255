/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * stack, again: a kernel stack that was walked before is known by where its addresses
 * stand.  For programs on sched_switch: with interrupts off, on the thread's own stack.
 *
 * A thread mostly leaves its CPU where it left it before.  To walk there takes 2 us; to
 * compare the words in which the return addresses stood takes a tenth of that.
 *
 * Where they stand is found by looking for them in all words from the program's context,
 * which lies on the stack, up to the user's registers, its top.  Copies that older calls
 * left there are found, too, but hardly twice: a word is believed that held the same
 * address each of the first times that the stack was walked to.  A copy among them does
 * no harm, it is one more word to compare.  An address that is nowhere (a return that is
 * probed), or twice in one stack (recursion), lets that always be walked.
 *
 * Why the walk would find the same: a function that is at the same address has a frame
 * of the same size.  So the first address, at its distance from the context, says where
 * the second is read, and so on; all these words are compared, and where one differs the
 * walk would leave the known way just there, whatever older calls have left behind it.
 * Frames of no fixed size are these.  That of a system call's first function is made
 * longer by chance (CONFIG_RANDOMIZE_KSTACK_OFFSET), which moves all below it; but its
 * return address, the outermost, stands right below the registers, always.  That of all
 * stacks is compared there; and where the distance from context to top has not been seen
 * to vary, this has to be the same, too.  (Else a fault in the kernel, in the midst of one
 * of the user's, would pass for that.)
 *
 * A function that aligns its frame, and kernel code that was interrupted, have a gap above
 * them that depends on where they came to lie.  Such a stack keeps the remainder of that
 * distance.  So where it varies, it has to vary in the smallest steps that any has (8
 * bytes in 6.1, 16 in 6.18): then no gap does.  What is left to trust is that such a
 * function is not called from elsewhere, with another gap, while older calls have left,
 * inside of living frames, a copy of all the addresses above it.
 *
 * The frames below the context are the program's and who calls it: the same each time,
 * but for the place of that call, which is another while the kernel keeps statistics.
 *
 * So it is not only argued: of those that are recognised every 256th is walked as well,
 * and what the walk says then holds.  The loader tells of those that differ.
 *
 * Only numbers of stacks, addresses of code and distances are kept.  A CPU's copy of the
 * memory is overwritten the next time, and the loader never reads it.
 */
#ifndef PLUMB_STACK_AGAIN_BPF_H
#define PLUMB_STACK_AGAIN_BPF_H

#include <plumb/stack.bpf.h>

#define AGAIN_STACKS 4096 /* that can be recognised; the others are always walked */
#define AGAIN_FRAMES 64   /* of one */
#define AGAIN_WORDS  512  /* of memory, from the context to the top */
#define AGAIN_ROW    32   /* of these, which one call looks at */
#define AGAIN_SEEN   16   /* so often a word has to hold the same address */
#define AGAIN_SOUGHT 32   /* stacks whose addresses a CPU looks for at a time */
#define AGAIN_RIVALS 32   /* so often one takes another's room only after */
#define AGAIN_TRIES  64   /* to find a stack's addresses */
#define AGAIN_AUDIT  256  /* of those that are recognised one is walked as well */

/* Of the trace the first two may be below the context: the program and who calls it. */
#define AGAIN_INSIDE 3ULL

/* Where the addresses of a stack stand, but the outermost. */
struct again_places {
	__u32 n;
	__u32 words;     /* so many have them all, from the context on */
	__u64 extent;    /* words from the context to the top; 0: it varies */
	__u64 outermost; /* right below the top */
	__u64 addresses[AGAIN_FRAMES];
	__u16 at[AGAIN_FRAMES]; /* words above the context */
};

/* Written once, whole. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AGAIN_STACKS);
	__type(key, __s32); /* the number of the stack */
	__type(value, struct again_places);
} plumb_again SEC(".maps");

/* A stack whose addresses are looked for. */
struct again_sought {
	__s32 number;
	__u32 seen;           /* so often */
	__u32 extent, varies; /* as it was first, and bits that have been others */
	__u32 rivals;
	__u8 which[AGAIN_WORDS]; /* address of the trace, from 1, that has always stood here */
};

/* What a CPU works with. */
struct again_work {
	__u64 memory[AGAIN_WORDS];
	__u64 trace[AGAIN_FRAMES];
	__u64 extent;
	__u64 found; /* a bit for each address of the trace that stands somewhere */
	__u32 depth; /* of the trace, without the outermost */
	__u32 recognised;
	struct again_places places;
	struct again_sought sought[AGAIN_SOUGHT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct again_work);
} plumb_again_work SEC(".maps");

/* A bit for each in which the distance of some stack, in words, has varied. */
static __u32 again_grain = 0;

/* Stacks that share a count are given up together. */
static __u8 again_tries[AGAIN_STACKS] = {};

/* Walked though they had been recognised, and those of them that were others. */
__u64 again_audited = 0, again_others = 0;

static __always_inline struct again_work *again_work(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&plumb_again_work, &zero);
}

static __always_inline __u64 *again_top(void)
{
	return (__u64 *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

/* So many words are between the context and the top. */
static __always_inline __u64 again_extent(void *ctx)
{
	return ((__u64)again_top() - (__u64)ctx) / sizeof(__u64);
}

/* Is the current thread's stack the one of that NUMBER again? */
static __always_inline bool again_is(void *ctx, __s32 number)
{
	struct again_places *p = bpf_map_lookup_elem(&plumb_again, &number);
	struct again_work *w = again_work();
	__u64 extent, outermost;
	__u32 i, at, size;

	if (!p || !w)
		return false;
	extent = again_extent(ctx);
	if (p->extent ? extent != p->extent : extent <= p->words)
		return false;
	if (bpf_probe_read_kernel(&outermost, sizeof(outermost), again_top() - 1) ||
	    outermost != p->outermost)
		return false;
	size = p->words * sizeof(__u64);
	if (size > sizeof(w->memory) || bpf_probe_read_kernel(w->memory, size, ctx))
		return false;
	for (i = 0; i < AGAIN_FRAMES && i < p->n; i++) {
		at = p->at[i];
		if (at >= AGAIN_WORDS || w->memory[at] != p->addresses[i])
			return false;
	}
	return true;
}

/* Which address of the trace WORD is, from 1; 0: none. */
static __always_inline __u32 again_which(const struct again_work *w, __u64 word)
{
	__u32 i;

	/* All code is near to each other. */
	if (word >> 32 != w->places.outermost >> 32)
		return 0;
	for (i = 0; i < AGAIN_FRAMES && i < w->depth; i++)
		if (w->trace[i] == word)
			return i + 1;
	return 0;
}

/* One word of the memory.  A global function is verified once, and not for each call. */
__noinline int again_look(__u32 slot, __u32 at)
{
	struct again_work *w = again_work();
	struct again_sought *s;
	__u32 which, n;

	if (!w || at >= w->extent || at >= AGAIN_WORDS)
		return 0;
	s = &w->sought[slot & (AGAIN_SOUGHT - 1)];
	which = s->which[at];
	if (s->seen == 1 || which) {
		which = again_which(w, w->memory[at]);
		if (s->seen > 1 && which != s->which[at])
			which = 0;
		s->which[at] = which;
	}
	if (!which)
		return 0;
	n = w->places.n;
	w->places.n = n + 1;
	if (n >= AGAIN_FRAMES) /* too many, by the count */
		return 0;
	w->found |= 1ULL << ((which - 1) & 63);
	w->places.addresses[n] = w->memory[at];
	w->places.at[n] = at;
	w->places.words = at + 1;
	return 0;
}

/* A row of them: so the verifier takes few steps. */
__noinline int again_look_row(__u32 slot, __u32 row)
{
	__u32 i;

	for (i = 0; i < AGAIN_ROW; i++)
		again_look(slot, row * AGAIN_ROW + i);
	return 0;
}

/* Its turn on this CPU?  Each stack has its place there, which another may still hold. */
static __always_inline bool again_seek(struct again_sought *s, __s32 number, __u32 extent)
{
	if (s->number != number) {
		if (s->seen && s->seen < AGAIN_SEEN && s->rivals++ < AGAIN_RIVALS)
			return false;
		s->number = number;
		s->seen = 0;
		s->extent = extent;
		s->varies = 0;
		s->rivals = 0;
	}
	s->seen++;
	s->varies |= s->extent ^ extent;
	return true;
}

/* The current thread's stack is the one of that NUMBER: where do its addresses stand? */
static __always_inline void again_learn(void *ctx, __s32 number)
{
	__u8 *tries = &again_tries[number & (AGAIN_STACKS - 1)];
	__u32 slot = number & (AGAIN_SOUGHT - 1), depth, i;
	struct again_work *w = again_work();
	__u64 extent = again_extent(ctx);
	struct plumb_stack *stack;
	struct again_sought *s;

	if (!w || *tries >= AGAIN_TRIES || bpf_map_lookup_elem(&plumb_again, &number))
		return;
	stack = bpf_map_lookup_elem(&plumb_stacks, &number);
	if (!stack)
		return;
	depth = stack->n - 1;
	s = &w->sought[slot];
	if (depth >= AGAIN_FRAMES || !extent || extent > AGAIN_WORDS ||
	    !again_seek(s, number, extent))
		return;
	++*tries;
	again_grain |= s->varies;
	if (bpf_probe_read_kernel(w->memory, extent * sizeof(__u64), ctx) ||
	    bpf_probe_read_kernel(w->trace, sizeof(w->trace), stack->addresses))
		return;
	w->extent = extent;
	w->depth = depth;
	w->found = w->places.n = 0;
	barrier_var(depth); /* its bound is known to the compiler, not to the verifier of 6.1 */
	w->places.outermost = w->trace[depth & (AGAIN_FRAMES - 1)];
	for (i = 0; i < AGAIN_WORDS / AGAIN_ROW; i++)
		again_look_row(slot, i);
	if (s->seen < AGAIN_SEEN || w->places.n > AGAIN_FRAMES ||
	    (w->found | AGAIN_INSIDE) != (1ULL << (depth & 63)) - 1 ||
	    w->memory[(extent - 1) & (AGAIN_WORDS - 1)] != w->places.outermost)
		return;
	if (s->varies && !(s->varies & again_grain & -again_grain))
		return;
	w->places.extent = s->varies ? 0 : extent;
	bpf_map_update_elem(&plumb_again, &number, &w->places, BPF_NOEXIST);
}

/* Is the one that has been recognised to be walked all the same? */
static __always_inline bool again_audits(void)
{
	struct again_work *w = again_work();

	return w && ++w->recognised % AGAIN_AUDIT == 0;
}

/* The number of the current thread's kernel stack, which was LAST the last time. */
static __always_inline __s32 stack_again(void *ctx, __s32 last, __u32 cpu)
{
	bool recognised;
	__s32 number;

	/* Since 5.15. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return stack_number(ctx, 0, cpu);
	recognised = again_is(ctx, last);
	if (recognised && !again_audits())
		return last;
	number = stack_number(ctx, 0, cpu); /* at one place, whose address is in the stack */
	if (recognised) {
		__sync_fetch_and_add(&again_audited, 1);
		if (number != last) {
			__sync_fetch_and_add(&again_others, 1);
			bpf_map_delete_elem(&plumb_again, &last);
		}
	} else if (number >= 0) {
		again_learn(ctx, number);
	}
	return number;
}

#endif
