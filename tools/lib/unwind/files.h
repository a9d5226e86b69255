/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* files: the tables of ELF files, each once, one behind the other in one array. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <plumb/bpf/stack/unwind.h>
#include <plumb/symbols/maps.h>

struct unwind_file;

/*
 * The file that process PID has mapped in AREA; NULL: it cannot be read, or is not ELF.  The vDSO
 * is one, too.  LATER: one that has not been read is not read now; then it is true, else false.
 */
const struct unwind_file *unwind_file_of(pid_t pid, const struct plumb_vma *area, bool *later);

/* Writes to AREA what programs need for START to END of a process, which are mapped from OFFSET on.
 */
void unwind_file_area(const struct unwind_file *f, const struct plumb_vma *vma,
		      struct plumb_unwind_area *area);

/* Rows are put in ROWS, of which there are ROOM.  Files that do not fit have none. */
void unwind_files_use(struct plumb_unwind_row *rows, size_t room);
bool unwind_files_are_full(void);
/* The CPU time that reading them has taken, ns. */
uint64_t unwind_files_spent(void);
