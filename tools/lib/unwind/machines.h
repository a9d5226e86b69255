/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* machines: from what an unwind table says at an address to a row, for each machine. */
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/stack/unwind.h>

/* IS_SIGNAL: the frame is that of a signal. */
struct plumb_unwind_row unwind_row_of_x86(Dwarf_Frame *frame, bool is_signal);
struct plumb_unwind_row unwind_row_of_arm64(Dwarf_Frame *frame, bool is_signal);

static inline bool unwind_in_words(int64_t bytes, int64_t least, int64_t most, int64_t *words)
{
	*words = bytes / 8;
	return !(bytes % 8) && *words >= least && *words <= most;
}

/* OFFSET of a register that is saved at CFA + OFFSET; false: it is not. */
static inline bool unwind_is_saved(const Dwarf_Op *ops, size_t n, int64_t *offset)
{
	if (!n || ops[0].atom != DW_OP_call_frame_cfa || n > 2)
		return false;
	if (n == 2 && ops[1].atom != DW_OP_plus_uconst)
		return false;
	*offset = n == 2 ? (int64_t)ops[1].number : 0;
	return true;
}
