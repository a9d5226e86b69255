/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind-tables, BPF side: the unwind tables, a walk in progress, and the search for what a table
 * has at an address.
 */
#pragma once

#include <plumb/bpf/core/filter.bpf.h>
#include <plumb/bpf/sched/registers.bpf.h>
#include <plumb/bpf/stack/stacks.h>
#include <plumb/bpf/stack/unwind.h>

/*
 * Where struct pt_regs has the program counter, the stack pointer and the frame pointer; how many
 * of its words are read; what tells 64-bit programs from others.
 */
#if defined(__TARGET_ARCH_arm64)
#define UNWIND_IS_ARM64  1
#define UNWIND_PC        32
#define UNWIND_SP        31
#define UNWIND_BP        29
#define UNWIND_RA        30
#define UNWIND_WORDS     34
#define UNWIND_IS_64(w)  (!((w)->registers[33] & 0x10)) /* PSR_MODE32_BIT */
#define UNWIND_CODE(pc)  ((pc) & ((1ULL << 48) - 1))    /* without a signature in the upper bits */
#define UNWIND_MOST_REGS 34
#else
#define UNWIND_IS_ARM64  0
#define UNWIND_PC        16
#define UNWIND_SP        19
#define UNWIND_BP        4
#define UNWIND_WORDS     21
#define UNWIND_IS_64(w)  ((__u16)(w)->registers[17] == 0x33) /* __USER_CS */
#define UNWIND_CODE(pc)  (pc)
#define UNWIND_MOST_REGS 32
#endif

#define UNWIND_AREA_STEPS 16 /* of a binary search among PLUMB_UNWIND_AREAS */
#define UNWIND_ROW_STEPS  22 /* among the rows of a file */

/* Sizes: the loader. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct plumb_unwind_row);
} plumb_unwind_rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct plumb_unwind_area);
} plumb_unwind_areas SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} plumb_unwind_now SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct plumb_unwind_image);
} plumb_unwind_images SEC(".maps");

/* The buffer that a stack is taken to: one per CPU. */
PLUMB_MAP(plumb_stack_taken, ARRAY,
	  1 /* set by the loader: CPUs, or PLUMB_STACKS_AT_ONCE for each */, __u32,
	  struct plumb_stack);

/* A walk in progress, in the place of plumb_stack_taken in which its stack is taken. */
struct unwind_walk {
	__u64 pc, sp, bp;
	__u64 begin, end, base; /* of the area of the last frame */
	__u64 image;
	__u32 first, n; /* its rows */
	__u32 tgid;
	__u32 areas, n_areas;              /* those in use */
	__u64 registers[UNWIND_MOST_REGS]; /* as in struct pt_regs */
	__u32 is_first;                    /* the frame is that of these registers */
	__u32 by_fp;                       /* some frame was followed by its frame pointer */
	__u32 is_exact;                    /* PC is not a return address */
	__u32 bp_is_lost;
	__u32 is_known; /* some area of the process was met */
	/* Of a binary search: in memory, which the verifier forgets, or it would follow each way.
	 */
	__u32 low, high;
};

PLUMB_MAP(plumb_unwind_walks, ARRAY, 1 /* the loader: as plumb_stack_taken */, __u32,
	  struct unwind_walk);
PLUMB_MAP(plumb_unwind_counts, PERCPU_ARRAY, PLUMB_WALKS, __u32, __u64);

/*
 * The row that each address had last, by a number made of the address: the same functions are on
 * most stacks.  It is the one if the address is not below it, and below the next one.
 */
#define UNWIND_HINTS 8192 /* a power of two */
PLUMB_MAP(plumb_unwind_hints, ARRAY, UNWIND_HINTS, __u32, __u32);

/*
 * Set by tools of which a program is loaded without the types of its functions: there the verifier
 * follows each call, which with hints is too much for it.
 */
const volatile __u8 unwind_without_hints = 0;

static __always_inline __u32 *unwind_hint(const struct unwind_walk *w, __u64 wanted)
{
	__u32 place = (w->first + wanted) % UNWIND_HINTS;

	return unwind_without_hints ? NULL : bpf_map_lookup_elem(&plumb_unwind_hints, &place);
}

/* The number of what is halfway in a search. */
static __always_inline __u32 unwind_middle(const struct unwind_walk *w)
{
	barrier();
	return (w->low + w->high) / 2;
}

/* Goes on above MIDDLE, or below. */
static __always_inline void unwind_halve(struct unwind_walk *w, __u32 middle, bool above)
{
	if (above)
		w->low = middle + 1;
	else
		w->high = middle;
	barrier();
}

/* Finds the area of PC; none: it has no rows. */
static __always_inline void unwind_find_area(struct unwind_walk *w, __u64 pc)
{
	const struct plumb_unwind_area *area;
	__u32 middle, at, i;

	if (pc >= w->begin && pc < w->end)
		return;
	w->begin = w->end = w->n = 0;
	w->low = 0;
	w->high = w->n_areas;
	/* The last one that does not begin above. */
	for (i = 0; i < UNWIND_AREA_STEPS + 1 && w->low < w->high; i++) {
		middle = unwind_middle(w);
		at = w->areas + middle;
		area = bpf_map_lookup_elem(&plumb_unwind_areas, &at);
		if (!area)
			return;
		if (area->tgid == w->tgid && area->image == w->image)
			w->is_known = 1;
		unwind_halve(w, middle,
			     area->tgid < w->tgid || (area->tgid == w->tgid && area->begin <= pc));
	}
	at = w->areas + w->low - 1;
	area = w->low ? bpf_map_lookup_elem(&plumb_unwind_areas, &at) : NULL;
	if (!area || area->tgid != w->tgid || pc >= area->end || area->image != w->image)
		return;
	w->begin = area->begin;
	w->end = area->end;
	w->base = area->base;
	w->first = area->first;
	w->n = area->n;
}

/* Whether row AT of its area is that of WANTED. */
static __always_inline const struct plumb_unwind_row *unwind_row_is(const struct unwind_walk *w,
								    __u32 at, __u64 wanted)
{
	const struct plumb_unwind_row *row, *next;

	if (at - w->first >= w->n)
		return NULL;
	row = bpf_map_lookup_elem(&plumb_unwind_rows, &at);
	if (!row || row->pc > wanted)
		return NULL;
	if (++at - w->first == w->n)
		return row;
	next = bpf_map_lookup_elem(&plumb_unwind_rows, &at);
	return next && next->pc > wanted ? row : NULL;
}

/* The row of PC, which is in the area of W; NULL: there is none. */
static __always_inline const struct plumb_unwind_row *unwind_find_row(struct unwind_walk *w,
								      __u64 pc)
{
	const __u64 wanted = pc - w->base;
	__u32 *hint = unwind_hint(w, wanted);
	const struct plumb_unwind_row *row;
	__u32 middle, at, i;

	row = hint ? unwind_row_is(w, *hint, wanted) : NULL;
	if (row)
		return row;
	w->low = 0;
	w->high = w->n;
	for (i = 0; i < UNWIND_ROW_STEPS && w->low < w->high; i++) {
		middle = unwind_middle(w);
		at = w->first + middle;
		row = bpf_map_lookup_elem(&plumb_unwind_rows, &at);
		if (!row)
			return NULL;
		unwind_halve(w, middle, row->pc <= wanted);
	}
	if (!w->low)
		return NULL;
	at = w->first + w->low - 1;
	if (hint)
		*hint = at;
	return bpf_map_lookup_elem(&plumb_unwind_rows, &at);
}

static __always_inline bool unwind_read(__u64 *to, __u64 address)
{
	return !bpf_probe_read_user(to, sizeof(*to), (const void *)address);
}
