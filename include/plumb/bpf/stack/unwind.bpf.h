/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind, BPF side: follows the stack of the current thread in user mode by the tables of its
 * program, and by frame pointers where there is none.
 */
#pragma once

#include <plumb/bpf/stack/unwind-tables.bpf.h>

/*
 * Where the context of a signal has the registers, above the stack pointer.  x86_64: uc_mcontext is
 * at 40 of struct ucontext, in which rbp is the 11th word, rsp the 16th, rip the 17th.  arm64:
 * behind 128 bytes of siginfo, at 176 of struct ucontext, x0 to x30 from the second word on, sp,
 * pc.
 */
#if defined(__TARGET_ARCH_arm64)
#define UNWIND_CONTEXT_BP (128 + 176 + 8 + 29 * 8)
#define UNWIND_CONTEXT_SP (128 + 176 + 8 + 31 * 8)
#define UNWIND_CONTEXT_PC (128 + 176 + 8 + 32 * 8)
#else
#define UNWIND_CONTEXT_BP (40 + 10 * 8)
#define UNWIND_CONTEXT_SP (40 + 15 * 8)
#define UNWIND_CONTEXT_PC (40 + 16 * 8)
#endif

static __always_inline bool unwind_signal(struct unwind_walk *w)
{
	const __u64 context = w->sp;

	w->is_exact = 1;
	w->is_first = w->bp_is_lost = 0;
#if defined(__TARGET_ARCH_arm64)
	/* What was interrupted may have its return address in x30 still. */
	w->is_first = !bpf_probe_read_user(&w->registers[UNWIND_RA], sizeof(__u64),
					   (const void *)(context + UNWIND_CONTEXT_BP + 8));
#endif
	return unwind_read(&w->bp, context + UNWIND_CONTEXT_BP) &&
	       unwind_read(&w->pc, context + UNWIND_CONTEXT_PC) &&
	       unwind_read(&w->sp, context + UNWIND_CONTEXT_SP);
}

/*
 * Code without a table, such as the trampolines that Python has for perf, may only call another
 * function and return: "add N,%rsp; ret" is next, or "ret".  Where the CFA is; 0: not known.
 */
static __always_inline __u64 unwind_epilogue(const struct unwind_walk *w)
{
	__u64 code;

	if (UNWIND_IS_ARM64) /* the code is that of x86_64 */
		return 0;
	if (w->is_exact || !unwind_read(&code, w->pc))
		return 0;
	if ((code & 0xff00ffffff) == 0xc300c48348)
		return w->sp + (code >> 24 & 0xff) + 8;
	return (code & 0xff) == 0xc3 ? w->sp + 8 : 0;
}

/* Where the registers are in struct pt_regs, by the number that DWARF gives them. */
const volatile __u8 unwind_words[16] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0};

/* Register NUMBER of the first frame. */
static __always_inline __u64 unwind_register(const struct unwind_walk *w, __u32 number)
{
	return w->registers[unwind_words[number & 15] & 31];
}

/* The CFA of code without a table, which may have frame pointers; 0: END says why not. */
static __always_inline __u64 unwind_without_table(struct unwind_walk *w, enum plumb_unwind_end *end,
						  bool *by_fp)
{
	__u64 cfa = unwind_epilogue(w);

	if (cfa)
		return cfa;
	*end = PLUMB_WALK_NO_TABLE;
	if (w->bp_is_lost)
		return 0;
	if (w->bp < w->sp) { /* it is no frame pointer, or the outermost frame has none */
		if (!w->bp)
			*end = PLUMB_WALK_COMPLETE;
		return 0;
	}
	w->by_fp = *by_fp = true;
	return w->bp + 16;
}

/*
 * To the caller of the frame at CFA, by what ROW has of registers: BP, and HOW.  As unwind_up().
 */
#if defined(__TARGET_ARCH_arm64)
static __always_inline enum plumb_unwind_end unwind_to(struct unwind_walk *w, __u64 cfa, __u32 how,
						       __s32 bp, __u64 *caller)
{
	const bool alone = how == PLUMB_UNWIND_SP_ALONE || how == PLUMB_UNWIND_BP_ALONE;

	if (cfa < w->sp || (cfa == w->sp && !w->is_first))
		return PLUMB_WALK_MEMORY;
	if (!bp && !w->is_first)
		return PLUMB_WALK_LOST;
	if (!bp)
		*caller = w->registers[UNWIND_RA];
	else if (!unwind_read(caller, cfa + bp * 8 + (alone ? 0 : 8)) ||
		 (!alone && !unwind_read(&w->bp, cfa + bp * 8)))
		return PLUMB_WALK_MEMORY;
	return 0;
}
#else
static __always_inline enum plumb_unwind_end unwind_to(struct unwind_walk *w, __u64 cfa, __u32 how,
						       __s32 bp, __u64 *caller)
{
	struct {
		__u64 bp, pc;
	} kept;

	if (cfa <= w->sp)
		return PLUMB_WALK_MEMORY;
	/* As functions with a frame pointer have it: one read instead of two. */
	if (bp == -2 && how != PLUMB_UNWIND_ALIGNED) {
		if (bpf_probe_read_user(&kept, sizeof(kept), (const void *)(cfa - sizeof(kept))))
			return PLUMB_WALK_MEMORY;
		w->bp = kept.bp;
		*caller = kept.pc;
		return 0;
	}
	if (!unwind_read(caller, cfa - 8))
		return PLUMB_WALK_MEMORY;
	if (how == PLUMB_UNWIND_ALIGNED) {
		if (!unwind_read(&w->bp, w->bp))
			return PLUMB_WALK_MEMORY;
	} else if (bp == PLUMB_UNWIND_LOST) {
		w->bp_is_lost = 1;
	} else if (bp && !unwind_read(&w->bp, cfa + bp * 8)) {
		return PLUMB_WALK_MEMORY;
	}
	return 0;
}
#endif

/* By a ROW that says where the CFA is; none: there is no table.  As unwind_up(). */
static __always_inline enum plumb_unwind_end unwind_frame_of(struct unwind_walk *w, __u64 pc,
							     const struct plumb_unwind_row *row)
{
	const __s32 offset = row ? row->cfa : 0;
	const __u32 how = row ? row->how : PLUMB_UNWIND_NONE;
	enum plumb_unwind_end end = 0;
	__s32 bp = row ? row->bp : 0;
	bool by_fp = false;
	__u64 cfa, caller;

	switch (how) {
	case PLUMB_UNWIND_SP:
	case PLUMB_UNWIND_SP_ALONE:
		cfa = w->sp + offset * 8;
		break;
	case PLUMB_UNWIND_BP:
	case PLUMB_UNWIND_BP_ALONE:
		cfa = w->bp + offset * 8;
		break;
	case PLUMB_UNWIND_ALIGNED:
		if (!unwind_read(&cfa, w->bp + offset * 8))
			return PLUMB_WALK_MEMORY;
		break;
	case PLUMB_UNWIND_SP_KEPT:
		if (!unwind_read(&cfa, w->sp + offset * 8))
			return PLUMB_WALK_MEMORY;
		cfa += 8;
		break;
	case PLUMB_UNWIND_PLT:
		cfa = w->sp + 8 + ((__s32)(pc & 15) >= offset ? 8 : 0);
		break;
	case PLUMB_UNWIND_NONE:
	case PLUMB_UNWIND_FP:
		/* In a file that has tables, code that is in none may be anything. */
		if (plumb_config.user_stacks == PLUMB_USER_STACKS_TABLES ||
		    (w->n && how == PLUMB_UNWIND_NONE))
			return PLUMB_WALK_NO_TABLE;
		cfa = unwind_without_table(w, &end, &by_fp);
		if (!cfa)
			return end;
		bp = by_fp ? -2 : 0;
		break;
	default:
		cfa = unwind_register(w, how - PLUMB_UNWIND_REGISTER) + offset * 8;
	}
	if (UNWIND_IS_ARM64 && bp == PLUMB_UNWIND_AT_BASE)
		bp = -offset;
	end = unwind_to(w, cfa, how, bp, &caller);
	if (end)
		return end;
	caller = UNWIND_CODE(caller);
	w->pc = caller;
	w->sp = cfa;
	w->is_first = w->is_exact = 0;
	if (!caller)
		return by_fp ? PLUMB_WALK_COMPLETE : PLUMB_WALK_MEMORY;
	return 0;
}

/* To the caller of the frame in which W is; otherwise why not, which is not 0. */
static __always_inline enum plumb_unwind_end unwind_up(struct unwind_walk *w)
{
	const __u64 pc = w->pc - !w->is_exact;
	const struct plumb_unwind_row *row;
	__u32 how;

	unwind_find_area(w, pc);
	row = w->n ? unwind_find_row(w, pc) : NULL;
	how = row ? row->how : PLUMB_UNWIND_NONE;
	if (how == PLUMB_UNWIND_END)
		return PLUMB_WALK_COMPLETE;
	if (how == PLUMB_UNWIND_OTHER ||
	    ((how == PLUMB_UNWIND_RDI || how >= PLUMB_UNWIND_REGISTER) && !w->is_first))
		return PLUMB_WALK_LOST;
	if (how == PLUMB_UNWIND_SIGNAL)
		return unwind_signal(w) ? 0 : PLUMB_WALK_MEMORY;
	if (how == PLUMB_UNWIND_RDI) {
		w->pc = unwind_register(w, 5);
		w->sp += row->cfa * 8;
		w->is_first = w->is_exact = 0;
		return 0;
	}
	if ((how == PLUMB_UNWIND_BP || how == PLUMB_UNWIND_ALIGNED) && w->bp_is_lost)
		return PLUMB_WALK_LOST;
	return unwind_frame_of(w, pc, row);
}

/* Writes the frame I to the stack that is taken in PLACE, and goes to its caller: 0, or why not. */
__noinline int unwind_frame(__u32 place, __u32 i)
{
	struct unwind_walk *w = bpf_map_lookup_elem(&plumb_unwind_walks, &place);
	struct plumb_stack *taken = bpf_map_lookup_elem(&plumb_stack_taken, &place);

	if (!w || !taken || i >= PLUMB_STACK_DEPTH)
		return PLUMB_WALK_DEEP;
	/* All but the first are taken for return addresses. */
	taken->addresses[i] = w->pc + (i && w->is_exact);
	taken->n = i + 1;
	return unwind_up(w);
}

/* Whether areas of the process are known in which the walk in PLACE begins. */
__noinline int unwind_is_known(__u32 place)
{
	struct unwind_walk *w = bpf_map_lookup_elem(&plumb_unwind_walks, &place);

	if (!w)
		return 0;
	unwind_find_area(w, w->pc);
	return w->is_known;
}

/* The same, or of one that it was forked from, or that was forked from it. */
static __always_inline bool unwind_is_relative_known(struct unwind_walk *w, __u32 place)
{
	__u32 at = w->image >> (64 - PLUMB_UNWIND_IMAGE_BITS);
	const struct plumb_unwind_image *known;

	if (unwind_is_known(place))
		return true;
	known = bpf_map_lookup_elem(&plumb_unwind_images, &at);
	if (!known || known->image != w->image || !known->tgid)
		return false;
	w->tgid = known->tgid;
	return unwind_is_known(place);
}

static __always_inline __u32 unwind_all(__u32 place, __u32 tgid, __u64 image)
{
	struct unwind_walk *w = bpf_map_lookup_elem(&plumb_unwind_walks, &place);
	__u32 zero = 0, i, end = 0;
	__u64 *now = bpf_map_lookup_elem(&plumb_unwind_now, &zero);
	const struct pt_regs *regs;

	if (!w || !now || !image || plumb_config.user_stacks == PLUMB_USER_STACKS_FP)
		return PLUMB_WALK_FP;
	if (!*now && plumb_config.user_stacks != PLUMB_USER_STACKS_TABLES)
		return PLUMB_WALK_FP;
	regs = return_registers(current_task());
	__builtin_memset(w, 0, sizeof(*w));
	if (bpf_probe_read_kernel(w->registers, UNWIND_WORDS * 8, regs))
		return PLUMB_WALK_FP;
	w->pc = w->registers[UNWIND_PC];
	w->sp = w->registers[UNWIND_SP];
	w->bp = w->registers[UNWIND_BP];
	if (!UNWIND_IS_64(w)) {
		unwind_frame(place, 0);
		return plumb_config.user_stacks == PLUMB_USER_STACKS_TABLES ? PLUMB_WALK_NO_TABLE
									    : PLUMB_WALK_FP;
	}
	w->is_exact = w->is_first = 1;
	w->tgid = tgid;
	w->image = image;
	w->areas = *now >> 32;
	w->n_areas = *now;
	if (!unwind_is_relative_known(w, place) &&
	    plumb_config.user_stacks != PLUMB_USER_STACKS_TABLES)
		return PLUMB_WALK_FP;
	for (i = 0; i < PLUMB_STACK_DEPTH && !end; i++)
		end = unwind_frame(place, i);
	if (end == PLUMB_WALK_COMPLETE && w->by_fp)
		end = PLUMB_WALK_MIXED;
	return end ?: PLUMB_WALK_DEEP;
}

/*
 * Takes the user stack of the current thread, of process TGID that executes IMAGE, in PLACE: how
 * that ended; PLUMB_WALK_FP: nothing is known of the process, and it was not taken.
 */
__noinline int unwind_stack(__u32 place, __u32 tgid, __u64 image)
{
	__u32 end = unwind_all(place, tgid, image);
	__u64 *count = bpf_map_lookup_elem(&plumb_unwind_counts, &end);

	if (count && image)
		plumb_add(*count, 1);
	return end;
}
