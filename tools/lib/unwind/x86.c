/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "machines.h"

#include <dwarf.h>
#include <stdlib.h>

/* Numbers of DWARF, in the psABI of x86_64. */
#define RDI 5
#define RBP 6
#define RSP 7
#define RIP 16

/* The rule that linkers write for .plt: in the last of its instructions one word more is pushed. */
static bool is_plt(const Dwarf_Op *ops, size_t n, uint64_t *from)
{
	static const uint8_t rule[] = {DW_OP_breg7, DW_OP_breg16,     DW_OP_lit15,
				       DW_OP_and,   0 /* a number */, DW_OP_ge,
				       DW_OP_lit3,  DW_OP_shl,        DW_OP_plus};

	if (n != sizeof(rule) || ops[0].number != 8 || ops[1].number)
		return false;
	for (size_t i = 0; i < n; i++)
		if (rule[i] && ops[i].atom != rule[i])
			return false;
	*from = ops[4].atom - DW_OP_lit0;
	return *from < 16;
}

static bool judge_cfa(Dwarf_Frame *frame, struct plumb_unwind_row *row)
{
	int64_t words;
	uint64_t from;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return false;
	if (n == 1 && ops[0].atom == DW_OP_bregx && ops[0].number < RIP) {
		row->how = ops[0].number == RSP   ? PLUMB_UNWIND_SP
			   : ops[0].number == RBP ? PLUMB_UNWIND_BP
						  : PLUMB_UNWIND_REGISTER + ops[0].number;
		if (!unwind_in_words(ops[0].number2, INT16_MIN, INT16_MAX, &words))
			return false;
		row->cfa = words;
		return true;
	}
	/* A function that aligns its stack keeps its CFA below its frame pointer. */
	if (n == 2 && ops[0].atom == DW_OP_breg6 && ops[1].atom == DW_OP_deref) {
		row->how = PLUMB_UNWIND_ALIGNED;
		if (!unwind_in_words(ops[0].number, INT16_MIN, INT16_MAX, &words))
			return false;
		row->cfa = words;
		return true;
	}
	/* OpenSSL's assembly keeps the caller's stack pointer, below the return address, on the
	 * stack. */
	if (n == 3 && ops[0].atom == DW_OP_breg7 && ops[1].atom == DW_OP_deref &&
	    ops[2].atom == DW_OP_plus_uconst && ops[2].number == 8) {
		row->how = PLUMB_UNWIND_SP_KEPT;
		if (!unwind_in_words(ops[0].number, INT16_MIN, INT16_MAX, &words))
			return false;
		row->cfa = words;
		return true;
	}
	if (!is_plt(ops, n, &from))
		return false;
	row->how = PLUMB_UNWIND_PLT;
	row->cfa = from;
	return true;
}

static void judge_bp(Dwarf_Frame *frame, struct plumb_unwind_row *row)
{
	Dwarf_Op memory[3], *ops;
	int64_t offset, words;
	size_t n;

	row->bp = PLUMB_UNWIND_LOST;
	if (dwarf_frame_register(frame, RBP, memory, &ops, &n))
		return;
	if (!n) /* not changed, or undefined */
		row->bp = ops ? PLUMB_UNWIND_LOST : 0;
	else if (unwind_is_saved(ops, n, &offset) &&
		 unwind_in_words(offset, INT8_MIN, PLUMB_UNWIND_LOST - 1, &words))
		row->bp = words;
	else if (row->how == PLUMB_UNWIND_ALIGNED && n == 1 && ops[0].atom == DW_OP_breg6 &&
		 !ops[0].number)
		row->bp = 0;
}

struct plumb_unwind_row unwind_row_of_x86(Dwarf_Frame *frame, bool is_signal)
{
	static const struct plumb_unwind_row other = {.how = PLUMB_UNWIND_OTHER};
	struct plumb_unwind_row row = {};
	Dwarf_Op memory[3], *ops;
	int64_t offset;
	bool is_rdi;
	size_t n;

	if (is_signal) {
		row.how = PLUMB_UNWIND_SIGNAL;
		return row;
	}
	if (dwarf_frame_register(frame, RIP, memory, &ops, &n))
		return other;
	if (!n && ops) { /* undefined */
		row.how = PLUMB_UNWIND_END;
		return row;
	}
	is_rdi = n == 1 && ops[0].atom == DW_OP_regx && ops[0].number == RDI;
	if ((!is_rdi && (!unwind_is_saved(ops, n, &offset) || offset != -8)) ||
	    !judge_cfa(frame, &row))
		return other;
	if (is_rdi && row.how != PLUMB_UNWIND_SP)
		return other;
	if (is_rdi)
		row.how = PLUMB_UNWIND_RDI;
	judge_bp(frame, &row);
	if (row.how == PLUMB_UNWIND_ALIGNED && row.bp == PLUMB_UNWIND_LOST)
		return other;
	return row;
}
