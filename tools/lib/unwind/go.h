/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* go: the rows of functions of Go, which have no .eh_frame. */
#pragma once

#include "rows.h"

/* Puts them in the place of what ROWS has of their code; not if it would take longer than DEADLINE.
 */
void unwind_add_go(Elf *elf, struct unwind_rows *rows, uint64_t deadline);
