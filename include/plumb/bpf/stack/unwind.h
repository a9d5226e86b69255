/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * unwind: tables by which a program follows the stack of a thread in user mode, shared by loader
 * and programs.  The loader makes them of the .eh_frame of the files that a process has mapped.
 *
 * All arrays are mapped by the loader, which writes to them while programs read.
 */
#pragma once

#include <plumb/bpf/core/types.h>

/*
 * Where the caller's registers are.  The canonical frame address (CFA) is the value that the stack
 * pointer has after the return; on x86_64 the return address is right below it.  On arm64 it is
 * above the caller's frame pointer, or in x30, if neither is saved.
 */
enum plumb_unwind_how {
	PLUMB_UNWIND_NONE,    /* not known: the walk ends */
	PLUMB_UNWIND_SP,      /* CFA = stack pointer + 8 * CFA */
	PLUMB_UNWIND_BP,      /* CFA = frame pointer + 8 * CFA */
	PLUMB_UNWIND_ALIGNED, /* CFA is at frame pointer + 8 * CFA; the caller's frame pointer at it
			       */
	PLUMB_UNWIND_PLT,     /* CFA = stack pointer + 8, + 8 from byte CFA of each 16 of code on */
	PLUMB_UNWIND_SIGNAL,  /* a signal's frame: the registers are in the context at the CFA */
	PLUMB_UNWIND_RDI,     /* as SP, but the return address is in rdi: vfork() */
	PLUMB_UNWIND_END,     /* the outermost function: there is no caller */
	PLUMB_UNWIND_OTHER,   /* by a rule that is none of these: the walk ends */
	PLUMB_UNWIND_FP,      /* no table, but code with frame pointers */
	/* arm64: as SP and BP, but only the return address is saved, not the frame pointer. */
	PLUMB_UNWIND_SP_ALONE,
	PLUMB_UNWIND_BP_ALONE,
	PLUMB_UNWIND_SP_KEPT, /* CFA is 8 above what is at stack pointer + 8 * CFA */
	/* From here on, CFA = register HOW - PLUMB_UNWIND_REGISTER, as DWARF counts, + 8 * CFA:
	 * known of the innermost frame only. */
	PLUMB_UNWIND_REGISTER,
	PLUMB_UNWIND_REGISTERS_END = PLUMB_UNWIND_REGISTER + 16
};

/* bp: the frame pointer's value is nowhere. */
#define PLUMB_UNWIND_LOST 127
/* The same on arm64, where it is never lost: at the register from which the CFA is counted. */
#define PLUMB_UNWIND_AT_BASE 127

/* From PC on, up to that of the next row. */
struct plumb_unwind_row {
	__u32 pc;  /* above the lowest address of the file's segments */
	__s16 cfa; /* in words of 8 bytes */
	__u8 how;  /* enum plumb_unwind_how */
	/* Where the caller's frame pointer is, in words above the CFA; 0: in the register.  Of
	 * ALONE, where the return address is. */
	__s8 bp;
};
_Static_assert(sizeof(struct plumb_unwind_row) == 8, "64 MB have 8 million");

/* Code of a process. */
struct plumb_unwind_area {
	__u64 begin, end; /* addresses */
	__u64 base;       /* of which the rows' pc is 0 */
	__u64 image;      /* as in struct plumb_stack */
	__u32 tgid;
	__u32 first, n; /* its rows; none: frame pointers are followed there */
	__u32 pad;
};
_Static_assert(sizeof(struct plumb_unwind_area) == 48, "no hidden padding in a map's value");

/*
 * The areas are sorted by tgid and address.  There are two arrays of them in one; the loader writes
 * to the one that is not in use, and then changes which one is: plumb_unwind_now has where that
 * begins, above, and how many areas it has, in the lower 32 bits.
 */
#define PLUMB_UNWIND_PAUSE 10000000 /* ns between two such changes: no walk takes that long */
#define PLUMB_UNWIND_AREAS 65536    /* in each array at most; a power of two */

/*
 * Of which process areas are known that executes an image: a process that has been forked has the
 * same until it executes another one.  Images have the place of their top bits, the last one wins.
 */
struct plumb_unwind_image {
	__u64 image;
	__u64 tgid; /* 0: none */
};
#define PLUMB_UNWIND_IMAGE_BITS 12

/* --user-stacks */
enum {
	PLUMB_USER_STACKS_AUTO,   /* by tables, and by frame pointers where there is none */
	PLUMB_USER_STACKS_FP,     /* by frame pointers only */
	PLUMB_USER_STACKS_TABLES, /* by tables only */
	PLUMB_USER_STACKS_NONE,
};

/* How a walk ended: plumb_stack.walk. */
enum plumb_unwind_end {
	PLUMB_WALK_FP,       /* it was by frame pointers only: nothing was known of the process */
	PLUMB_WALK_COMPLETE, /* at the outermost function */
	PLUMB_WALK_DEEP,     /* it has PLUMB_STACK_DEPTH frames */
	PLUMB_WALK_NO_TABLE, /* where no table is, and no frame pointer */
	PLUMB_WALK_LOST,     /* where the table needs a register or a rule that is not known */
	PLUMB_WALK_MEMORY,   /* at memory that cannot be read, or out of order */
	PLUMB_WALK_MIXED,    /* at the outermost function, in part by frame pointers */
	PLUMB_WALKS
};
