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

#include <plumb/bpf/stack/stack.bpf.h>

#define AGAIN_STACKS   4096 /* that can be recognised; the others are always walked */
#define AGAIN_FRAMES   64   /* of one */
#define AGAIN_POINTERS 128  /* of one */
#define AGAIN_WORDS    512  /* of memory, up to the top */
#define AGAIN_BELOW    32   /* of them below the context: the frame of the program ends there */
#define AGAIN_ROW      32   /* of them, which one call looks at */
#define AGAIN_EAGER    1024 /* so often a stack is looked at whenever it is walked, */
#define AGAIN_PATIENT  16   /* then one time in so many */

/*
 * A pointer into the stack: words from the lowest that is looked at, and what this distance has
 * been the same from; 0: nothing, it is left out.
 */
#define AGAIN_DISTANCE 0x3fff
#define AGAIN_BY_LOW   0x4000
#define AGAIN_BY_TOP   0x8000

/* What a stack has to hold.  Places are words above the lowest that is compared. */
struct again_places {
	__u16 n, n_pointers;
	__u16 first;     /* the lowest that is compared: words above the lowest of all */
	__u16 words;     /* so many are compared */
	__u32 extent;    /* words from the lowest of all to the top, the first time */
	__u32 varies;    /* it has been another since */
	__u64 outermost; /* right below the top */
	__u64 addresses[AGAIN_FRAMES];
	__u16 at[AGAIN_FRAMES];
	__u16 pointer_at[AGAIN_POINTERS];
	__u16 pointers[AGAIN_POINTERS];
};

/*
 * Later, pointers are only left out, word by word: whatever of that another CPU sees, it compares
 * no less than it has to.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AGAIN_STACKS);
	__type(key, __s32); /* the number of the stack */
	__type(value, struct again_places);
} plumb_again SEC(".maps");

/* What a CPU works with. */
struct again_work {
	__u64 memory[AGAIN_WORDS];
	__u64 trace[AGAIN_FRAMES];
	__u64 top;
	__u32 extent;
	__u32 n;    /* addresses of the trace */
	__u32 next; /* the address that is looked for */
	__u32 ambiguous;
	__u16 at[AGAIN_FRAMES];
	struct again_places places;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct again_work);
} plumb_again_work SEC(".maps");

/* How often a stack was looked at; some share a count. */
static __u16 again_tries[AGAIN_STACKS] = {};

/* Fields that not every kernel has. */
struct task_struct___traced {
	int curr_ret_depth;
	struct llist_head rethooks, kretprobe_instances;
} __attribute__((preserve_access_index));

/* Is an address to which the thread returns not the one that is on its stack? */
static __always_inline bool again_is_traced(void)
{
	struct task_struct___traced *task = (void *)bpf_get_current_task_btf();

	return (bpf_core_field_exists(task->curr_ret_depth) &&
		BPF_CORE_READ(task, curr_ret_depth) >= 0) ||
	       (bpf_core_field_exists(task->rethooks) && BPF_CORE_READ(task, rethooks.first)) ||
	       (bpf_core_field_exists(task->kretprobe_instances) &&
		BPF_CORE_READ(task, kretprobe_instances.first));
}

/* Since 5.15.  Each global function asks, since it is verified even if nothing calls it. */
static __always_inline bool again_is_possible(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
}

static __always_inline struct again_work *again_work(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&plumb_again_work, &zero);
}

/*
 * Words from the lowest that is looked at to the top.  That of two pointers is a number, which the
 * verifier passes on to global functions.
 */
static __always_inline __u64 again_extent(void *ctx)
{
	__u64 top = bpf_task_pt_regs(bpf_get_current_task_btf());

	return (top - (__u64)ctx) / sizeof(__u64) + AGAIN_BELOW;
}

/* Where the top is: a number, once it has been in a map. */
static __always_inline __u64 again_top(struct again_work *w)
{
	volatile __u64 *top = &w->top;

	*top = bpf_task_pt_regs(bpf_get_current_task_btf());
	return *top;
}

/* How far the pointer leads that is in the memory, AT there; 0: it is none.  Walks go up. */
static __always_inline __u32 again_pointer(__u64 word, __u64 low, __u32 at)
{
	__u64 distance = word - low;

	if (distance & 7 || distance > (AGAIN_WORDS + 32) * sizeof(word) || distance / 8 <= at)
		return 0;
	return distance / 8;
}

/* --- recognising --- */

static __always_inline bool again_has_addresses(const struct again_work *w,
						const struct again_places *p)
{
	__u32 i, at;

	for (i = 0; i < AGAIN_FRAMES && i < p->n; i++) {
		at = p->at[i];
		if (at >= AGAIN_WORDS || w->memory[at] != p->addresses[i])
			return false;
	}
	return true;
}

/* By what POINTER, of a stack of the extent WAS, is the same in one of EXTENT that holds WORD. */
static __always_inline __u32 again_same(__u32 pointer, __u64 word, __u64 top, __u64 extent,
					__u64 was)
{
	__u64 distance = (pointer & AGAIN_DISTANCE) * 8;

	if (word != top - extent * 8 + distance)
		pointer &= ~AGAIN_BY_LOW;
	if (word != top - was * 8 + distance)
		pointer &= ~AGAIN_BY_TOP;
	return pointer & (AGAIN_BY_LOW | AGAIN_BY_TOP);
}

static __always_inline bool again_has_pointers(const struct again_work *w,
					       const struct again_places *p, __u64 extent)
{
	__u32 i, at, by;

	for (i = 0; i < AGAIN_POINTERS && i < p->n_pointers; i++) {
		at = p->pointer_at[i];
		by = p->pointers[i] & (AGAIN_BY_LOW | AGAIN_BY_TOP);
		if (at >= AGAIN_WORDS ||
		    again_same(p->pointers[i], w->memory[at], w->top, extent, p->extent) != by)
			return false;
	}
	return true;
}

/*
 * Is the current thread's stack, of that EXTENT, the one of that NUMBER again?  A global function
 * is verified once, and not for each call.
 */
__noinline int again_is(__u64 extent, __s32 number)
{
	struct again_places *p = bpf_map_lookup_elem(&plumb_again, &number);
	struct again_work *w = again_work();
	__u64 top, outermost;
	__u32 size;

	if (!again_is_possible() || !p || !w)
		return false;
	if (extent != p->extent && (!p->varies || extent <= (__u64)p->first + p->words))
		return false;
	top = again_top(w);
	if (bpf_probe_read_kernel(&outermost, sizeof(outermost), (void *)(top - 8)) ||
	    outermost != p->outermost)
		return false;
	size = p->words * sizeof(__u64);
	if (size > sizeof(w->memory) ||
	    bpf_probe_read_kernel(w->memory, size, (void *)(top - (extent - p->first) * 8)))
		return false;
	return again_has_addresses(w, p) && again_has_pointers(w, p, extent);
}

/* --- learning --- */

enum { AGAIN_UP, AGAIN_DOWN, AGAIN_KEEP };

/* The lowest places of the addresses, in their order.  (They are no more than AGAIN_FRAMES.) */
static __always_inline void again_up(struct again_work *w, __u32 at)
{
	__u32 next = w->next;

	if (next < w->n && w->memory[at] == w->trace[next & (AGAIN_FRAMES - 1)]) {
		w->at[next & (AGAIN_FRAMES - 1)] = at;
		w->next = next + 1;
	}
}

/* From the top down, the highest ones: are they the same? */
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
	if (n >= AGAIN_POINTERS) /* too many, by the count */
		return;
	p->pointers[n] = pointer | AGAIN_BY_LOW | AGAIN_BY_TOP;
	p->pointer_at[n] = at - p->first;
	p->words = at - p->first + 1;
}

/* One word of the memory. */
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

/* A row of them: so the verifier takes few steps. */
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

/* Are the places of all addresses known?  Then they are in W. */
static __always_inline bool again_find(struct again_work *w)
{
	w->next = 1; /* the first is below */
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
 * Its addresses are at the same places: leaves out the pointers that are others.  In a frame of
 * random size there are none of a walk's: it has a frame pointer, which leads to its caller.
 */
static __always_inline void again_refine(struct again_work *w, struct again_places *p)
{
	__u32 i, at, pointer, highest;

	for (i = 0; i < AGAIN_FRAMES && i < p->n; i++)
		if (w->at[(i + 1) & (AGAIN_FRAMES - 1)] != p->first + p->at[i])
			return;
	if (w->extent != p->extent)
		p->varies = true;
	highest = p->at[(p->n - 1) & (AGAIN_FRAMES - 1)];
	if (p->varies)
		p->words = highest + 1;
	for (i = 0; i < AGAIN_POINTERS && i < p->n_pointers; i++) {
		pointer = p->pointers[i];
		at = p->first + p->pointer_at[i];
		if (p->varies && p->pointer_at[i] > highest)
			p->pointers[i] = 0;
		else if (at < AGAIN_WORDS)
			p->pointers[i] =
				(pointer & AGAIN_DISTANCE) |
				again_same(pointer, w->memory[at], w->top, w->extent, p->extent);
	}
}

/* Is it time to look at the stack of that NUMBER? */
static __always_inline bool again_tries_it(__s32 number)
{
	__u16 *tries = &again_tries[number & (AGAIN_STACKS - 1)];

	if (*tries == (__u16)-1)
		return false;
	++*tries;
	return *tries <= AGAIN_EAGER || *tries % AGAIN_PATIENT == 0;
}

/* The current thread's stack is the one of that NUMBER: what will it be recognised by? */
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
		again_refine(w, p);
	else
		again_begin(w, number);
	return 0;
}

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
