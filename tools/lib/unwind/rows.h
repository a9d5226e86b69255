/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rows: the unwind table of an ELF file, as programs search it. */
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <plumb/bpf/stack/unwind.h>

#define UNWIND_ROWS_MAX ((2U << 20) - 1) /* of a file: what a search finds */

struct unwind_rows {
	struct plumb_unwind_row *all; /* sorted by pc */
	size_t n;
	bool is_too_large;
	/* What is known at an address (machines.h); NULL: the machine is another one. */
	struct plumb_unwind_row (*machine)(Dwarf_Frame *frame, bool is_signal);
	uint64_t base; /* the lowest address of the file's segments, of which their pc is 0 */
};

/*
 * Makes the rows of ELF's .eh_frame, and of its .debug_frame, or else that of DEBUG, its debug file
 * (NULL: none), for functions that are only there; none, if it has no such tables, or some that are
 * not understood.  Whatever the files contain, it takes no more than a bounded time.
 */
struct unwind_rows unwind_rows_of(Elf *elf, Elf *debug);

/*
 * Whether the CPU time DEADLINE is over, for callers that ask for each row.  The time, which takes
 * a system call, is read now and then only.
 */
bool unwind_is_late(uint64_t deadline);

/* The lowest address of ELF's segments; false: it has none. */
bool unwind_lowest_address(Elf *elf, uint64_t *lowest);
