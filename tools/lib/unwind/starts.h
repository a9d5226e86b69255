/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* starts: where the functions begin that an unwind table has. */
#pragma once

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debug-frame.h"

struct unwind_start {
	uint64_t address;
	bool is_debug; /* it is in .debug_frame, and not in .eh_frame */
};

struct unwind_starts {
	struct unwind_start *all; /* by address; the caller's */
	size_t n;
};

/* Of ELF, and of its .debug_frame. */
struct unwind_starts unwind_starts_of(Elf *elf, const struct unwind_debug_frame *frame);
