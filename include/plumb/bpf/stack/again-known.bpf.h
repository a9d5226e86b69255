/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first part of again.bpf.h: the contents by which stacks are recognised, and their
 * comparison with the current thread's stack.
 */
#pragma once

#include <plumb/bpf/stack/stack.bpf.h>

#define AGAIN_STACKS   4096 /* that can be recognised; all others are always walked */
#define AGAIN_FRAMES   64   /* per stack */
#define AGAIN_POINTERS 128  /* per stack */
#define AGAIN_WORDS    512  /* of stack memory, up to the top */
#define AGAIN_BELOW    32   /* of these words below the context: the program's frame ends there */
#define AGAIN_ROW      32   /* of these words, processed by one call of again_look_row() */
#define AGAIN_EAGER    1024 /* walks of a stack: up to here each one is learned from, */
#define AGAIN_PATIENT  16   /* then one in so many */

/*
 * A pointer into the stack: its distance in words from the lowest word that is looked at, and
 * flags: it has always had the same distance from the lowest word, or from the top.  Without a flag
 * it is left out of comparisons.
 */
#define AGAIN_DISTANCE 0x3fff
#define AGAIN_BY_LOW   0x4000
#define AGAIN_BY_TOP   0x8000

/*
 * The contents by which a stack is recognised.  Places are in words above the lowest word that is
 * compared.
 */
struct again_places {
	__u16 n, n_pointers;
	__u16 first;     /* the lowest word that is compared: words above the lowest of all */
	__u16 words;     /* number of words that are compared */
	__u32 extent;    /* words from the lowest of all to the top, when the stack was learned */
	__u32 varies;    /* the extent has been another since then */
	__u64 outermost; /* the address right below the top */
	__u64 addresses[AGAIN_FRAMES];
	__u16 at[AGAIN_FRAMES];
	__u16 pointer_at[AGAIN_POINTERS];
	__u16 pointers[AGAIN_POINTERS];
};

/*
 * After an entry is added, pointers are only left out, one store each.  Another CPU that sees only
 * some of these stores still compares all words that it has to compare.
 */
PLUMB_MAP(plumb_again, HASH, AGAIN_STACKS, __s32 /* the number of the stack */,
	  struct again_places);

/* Scratch memory of a CPU. */
struct again_work {
	__u64 memory[AGAIN_WORDS];
	__u64 trace[AGAIN_FRAMES];
	__u64 top;
	__u32 extent;
	__u32 n;    /* addresses of the trace */
	__u32 next; /* index of the address that is searched for */
	__u32 ambiguous;
	__u16 at[AGAIN_FRAMES];
	struct again_places places;
};

PLUMB_MAP(plumb_again_work, PERCPU_ARRAY, 1, __u32, struct again_work);

/* How often a stack was walked, up to a maximum; stacks can share a count. */
static __u16 again_tries[AGAIN_STACKS] = {};

/* Fields that not every kernel has. */
struct task_struct___traced {
	int curr_ret_depth;
	struct llist_head rethooks, kretprobe_instances;
} __attribute__((preserve_access_index));

/* Return whether a tracer has replaced a return address on the thread's stack. */
static __always_inline bool again_is_traced(void)
{
	struct task_struct___traced *task = (void *)bpf_get_current_task_btf();

	return (bpf_core_field_exists(task->curr_ret_depth) &&
		BPF_CORE_READ(task, curr_ret_depth) >= 0) ||
	       (bpf_core_field_exists(task->rethooks) && BPF_CORE_READ(task, rethooks.first)) ||
	       (bpf_core_field_exists(task->kretprobe_instances) &&
		BPF_CORE_READ(task, kretprobe_instances.first));
}

/*
 * Return whether the outermost address is right below the user's registers, as on x86, and the
 * kernel has bpf_task_pt_regs() (5.15).  On arm64 a walk follows frame pointers only, which is
 * cheap. Each global function checks this, since it is verified even if nothing calls it.
 */
static __always_inline bool again_is_possible(void)
{
#if defined(__TARGET_ARCH_x86)
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs);
#else
	return false;
#endif
}

static __always_inline struct again_work *again_work(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&plumb_again_work, &zero);
}

/*
 * Words from the lowest that is looked at to the top.  A difference of pointers is a scalar, which
 * the verifier accepts as an argument of global functions.
 */
static __always_inline __u64 again_extent(void *ctx)
{
	__u64 top = bpf_task_pt_regs(bpf_get_current_task_btf());

	return (top - (__u64)ctx) / sizeof(__u64) + AGAIN_BELOW;
}

/* Address of the top.  Once it has been in a map, it is a scalar to the verifier. */
static __always_inline __u64 again_top(struct again_work *w)
{
	volatile __u64 *top = &w->top;

	*top = bpf_task_pt_regs(bpf_get_current_task_btf());
	return *top;
}

/*
 * The distance in words from LOW to where WORD, which is at place AT, points; 0: WORD is no pointer
 * into the stack above AT.  Walks only go up.
 */
static __always_inline __u32 again_pointer(__u64 word, __u64 low, __u32 at)
{
	__u64 distance = word - low;

	if (distance & 7 || distance > (AGAIN_WORDS + 32) * sizeof(word) || distance / 8 <= at)
		return 0;
	return distance / 8;
}

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

/* The flags of POINTER, learned at the extent WAS, that hold for WORD in a stack of EXTENT. */
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
 * Return whether the current thread's stack, of EXTENT words, is the known stack NUMBER.  A global
 * function is verified only once, not at each call.
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
