/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "machines.h"

#include <dwarf.h>
#include <stdlib.h>

/* Numbers of DWARF for the Arm 64-bit architecture: frame pointer, link register, stack pointer. */
#define X29 29
#define X30 30
#define SP  31

/* Where a register is saved, in words above the CFA; 0: it is not; false: by another rule. */
static bool saved_at(Dwarf_Frame *frame, int number, int64_t *words, bool *is_undefined)
{
	Dwarf_Op memory[3], *ops;
	int64_t offset;
	size_t n;

	*words = *is_undefined = 0;
	if (dwarf_frame_register(frame, number, memory, &ops, &n))
		return false;
	if (!n) {
		*is_undefined = ops;
		return true;
	}
	return unwind_is_saved(ops, n, &offset) &&
	       unwind_in_words(offset, INT16_MIN, INT16_MAX, words);
}

/* Where the caller's frame pointer and the return address are: a pair, if both are saved. */
static bool judge_saved(Dwarf_Frame *frame, struct plumb_unwind_row *row)
{
	int64_t fp, ra;
	bool is_undefined, ignored;

	if (!saved_at(frame, X30, &ra, &is_undefined) || !saved_at(frame, X29, &fp, &ignored))
		return false;
	if (is_undefined) {
		row->how = PLUMB_UNWIND_END;
		return true;
	}
	if (!fp && ra)
		row->how += PLUMB_UNWIND_SP_ALONE - PLUMB_UNWIND_SP;
	else if (fp && ra != fp + 1)
		return false;
	fp = fp ?: ra;
	/* That of a large frame is mostly at its bottom, where the base register points to. */
	if (fp && fp == -row->cfa)
		fp = PLUMB_UNWIND_AT_BASE;
	else if (fp < INT8_MIN || fp >= PLUMB_UNWIND_AT_BASE)
		return false;
	row->bp = fp;
	return true;
}

struct plumb_unwind_row unwind_row_of_arm64(Dwarf_Frame *frame, bool is_signal)
{
	static const struct plumb_unwind_row other = {.how = PLUMB_UNWIND_OTHER};
	struct plumb_unwind_row row = {};
	int64_t words;
	Dwarf_Op *ops;
	size_t n;

	if (is_signal) {
		row.how = PLUMB_UNWIND_SIGNAL;
		return row;
	}
	if (dwarf_frame_cfa(frame, &ops, &n) || n != 1 || ops[0].atom != DW_OP_bregx ||
	    (ops[0].number != SP && ops[0].number != X29) ||
	    !unwind_in_words(ops[0].number2, INT16_MIN, INT16_MAX, &words))
		return other;
	row.how = ops[0].number == SP ? PLUMB_UNWIND_SP : PLUMB_UNWIND_BP;
	row.cfa = words;
	return judge_saved(frame, &row) ? row : other;
}
