/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rows.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>

#include "debug-frame.h"
#include "go.h"
#include "machines.h"
#include "starts.h"

#define LONGEST (2 * PLUMB_SECOND) /* for a file */

bool unwind_lowest_address(Elf *elf, uint64_t *lowest)
{
	GElf_Phdr segment;
	size_t n;

	*lowest = UINT64_MAX;
	for (size_t i = 0; !elf_getphdrnum(elf, &n) && i < n; i++)
		if (gelf_getphdr(elf, i, &segment) && segment.p_type == PT_LOAD &&
		    segment.p_vaddr < *lowest)
			*lowest = segment.p_vaddr;
	return *lowest != UINT64_MAX;
}

/* --- all of a file --- */

#define ROWS_AT_ONCE 16

bool unwind_is_late(uint64_t deadline)
{
	static unsigned int calls;

	return !(++calls % ROWS_AT_ONCE) && plumb_cpu_time() > deadline;
}

/*
 * For a register with a large number elfutils allocates an array of all below it: up to 34 GB.  So
 * much may be allocated while a file is read, which is more than our own rows need; BEFORE is what
 * may be else.
 */
#define ROOM (192UL << 20)

static void limit_memory(struct rlimit *before)
{
	struct rlimit limit;
	unsigned long pages;
	FILE *f;

	if (getrlimit(RLIMIT_DATA, before)) {
		before->rlim_cur = before->rlim_max = RLIM_INFINITY;
		return;
	}
	f = fopen("/proc/self/statm", "re");
	if (f && fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages) == 1) {
		limit = *before;
		limit.rlim_cur = pages * sysconf(_SC_PAGESIZE) + ROOM;
		if (limit.rlim_cur < before->rlim_cur)
			setrlimit(RLIMIT_DATA, &limit);
	}
	if (f)
		fclose(f);
}

static bool is_same(const struct plumb_unwind_row *a, const struct plumb_unwind_row *b)
{
	return a->how == b->how && a->cfa == b->cfa && a->bp == b->bp;
}

static void append(struct unwind_rows *rows, uint64_t address, struct plumb_unwind_row row)
{
	struct plumb_unwind_row *last = rows->n ? &rows->all[rows->n - 1] : NULL;

	row.pc = address - rows->base;
	if (last && last->pc == row.pc)
		*last = row;
	else if (!last || !is_same(last, &row))
		*plumb_append(rows->all, rows->n) = row;
}

/* Of the function at ADDRESS, which is BIAS above that in CFI; returns where it ends. */
static uint64_t add_function(struct unwind_rows *rows, Dwarf_CFI *cfi, uint64_t bias,
			     uint64_t address, uint64_t next, uint64_t deadline)
{
	Dwarf_Addr start, end;
	Dwarf_Frame *frame;
	bool is_signal;

	while (cfi && address < next && rows->n < UNWIND_ROWS_MAX && !unwind_is_late(deadline)) {
		if (dwarf_cfi_addrframe(cfi, address - bias, &frame))
			break;
		if (dwarf_frame_info(frame, &start, &end, &is_signal) < 0 ||
		    end + bias <= address) {
			free(frame);
			break;
		}
		append(rows, address, rows->machine(frame, is_signal));
		free(frame);
		address = end + bias;
	}
	return address;
}

/*
 * Compilers with code of their own in a program, as V8 has in node, write frame pointers and no
 * table: much code, of functions that mostly begin with a frame.
 */
#define MUCH      (64UL << 10)
#define PER_FRAME 4096 /* bytes at most, on average */

static size_t count_frames(const Elf_Data *data)
{
	/* "push %rbp; mov %rsp,%rbp", in both forms */
	static const uint8_t frames[][4] = {{0x55, 0x48, 0x89, 0xe5}, {0x55, 0x48, 0x8b, 0xec}};
	const char *begin = data->d_buf, *end = begin + data->d_size, *at;
	size_t n = 0;

	for (int i = 0; begin && i < 2; i++)
		for (at = begin; (at = memmem(at, end - at, frames[i], sizeof(frames[i]))); at++)
			n++;
	return n;
}

/* How code from BEGIN to END is followed, which is in no table. */
static struct plumb_unwind_row without_table(Elf *elf, uint64_t begin, uint64_t end)
{
	struct plumb_unwind_row row = {.how = PLUMB_UNWIND_NONE};
	const Elf_Data *data;
	GElf_Phdr s;
	size_t n;

	for (size_t i = 0; end - begin >= MUCH && !elf_getphdrnum(elf, &n) && i < n; i++) {
		if (!gelf_getphdr(elf, i, &s) || s.p_type != PT_LOAD || !(s.p_flags & PF_X) ||
		    begin < s.p_vaddr || begin - s.p_vaddr >= s.p_filesz)
			continue;
		if (end > s.p_vaddr + s.p_filesz)
			end = s.p_vaddr + s.p_filesz;
		data = elf_getdata_rawchunk(elf, s.p_offset + (begin - s.p_vaddr), end - begin,
					    ELF_T_BYTE);
		if (data && end - begin >= MUCH && count_frames(data) >= (end - begin) / PER_FRAME)
			row.how = PLUMB_UNWIND_FP;
	}
	return row;
}

/* Adds the rows of all functions; false: they are of no use, or too many. */
static bool add_functions(struct unwind_rows *rows, Elf *elf, const struct unwind_starts *starts,
			  Dwarf_CFI *cfi, const struct unwind_debug_frame *debug, uint64_t deadline)
{
	uint64_t end = 0, next;

	for (size_t i = 0; i < starts->n; i++) {
		const struct unwind_start *s = &starts->all[i];

		if (s->is_debug && s->address < end) /* it is in both */
			continue;
		if (s->address < end || s->address < rows->base ||
		    s->address - rows->base > UINT32_MAX || rows->n >= UNWIND_ROWS_MAX ||
		    unwind_is_late(deadline))
			return false;
		for (size_t j = i + 1; j < starts->n && starts->all[j].address == s->address; j++)
			i = j;
		next = i + 1 < starts->n ? starts->all[i + 1].address : UINT64_MAX;
		end = s->is_debug ? add_function(rows, debug->cfi, debug->bias, s->address, next,
						 deadline)
				  : add_function(rows, cfi, 0, s->address, next, deadline);
		if (next > end && end - rows->base <= UINT32_MAX)
			append(rows, end, without_table(elf, end, next));
	}
	return true;
}

struct unwind_rows unwind_rows_of(Elf *elf, Elf *debug)
{
	const uint64_t deadline = plumb_cpu_time() + LONGEST;
	struct unwind_rows rows = {};
	struct unwind_debug_frame frame;
	struct unwind_starts starts;
	struct rlimit memory;
	GElf_Ehdr header;
	Dwarf_CFI *cfi;

	if (!gelf_getehdr(elf, &header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    !unwind_lowest_address(elf, &rows.base))
		return rows;
	rows.machine = header.e_machine == EM_X86_64    ? unwind_row_of_x86
		       : header.e_machine == EM_AARCH64 ? unwind_row_of_arm64
							: NULL;
	if (!rows.machine)
		return rows;
	limit_memory(&memory);
	frame = unwind_debug_frame_of(elf, debug);
	starts = unwind_starts_of(elf, &frame);
	cfi = starts.n ? dwarf_getcfi_elf(elf) : NULL;
	if (!add_functions(&rows, elf, &starts, cfi, &frame, deadline)) {
		free(rows.all);
		rows = (struct unwind_rows){.is_too_large = rows.n >= UNWIND_ROWS_MAX ||
							    plumb_cpu_time() > deadline};
	}
	unwind_debug_frame_free(&frame);
	if (cfi)
		dwarf_cfi_end(cfi);
	free(starts.all);
	setrlimit(RLIMIT_DATA, &memory);
	unwind_add_go(elf, &rows, deadline);
	return rows;
}
