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

#include "go.h"
#include "starts.h"

/* Numbers of DWARF, in the psABI of x86_64. */
#define RDI 5
#define RBP 6
#define RSP 7
#define RIP 16

#define LONGEST (2 * PLUMB_SECOND) /* for a file */

static bool lowest_address(Elf *elf, uint64_t *lowest)
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

/* --- what is known at an address --- */

static bool in_words(int64_t bytes, int64_t least, int64_t most, int64_t *words)
{
	*words = bytes / 8;
	return !(bytes % 8) && *words >= least && *words <= most;
}

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
		if (!in_words(ops[0].number2, INT16_MIN, INT16_MAX, &words))
			return false;
		row->cfa = words;
		return true;
	}
	/* A function that aligns its stack keeps its CFA below its frame pointer. */
	if (n == 2 && ops[0].atom == DW_OP_breg6 && ops[1].atom == DW_OP_deref) {
		row->how = PLUMB_UNWIND_ALIGNED;
		if (!in_words(ops[0].number, INT16_MIN, INT16_MAX, &words))
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

/* OFFSET of a register that is saved at CFA + OFFSET; false: it is not. */
static bool is_saved(const Dwarf_Op *ops, size_t n, int64_t *offset)
{
	if (!n || ops[0].atom != DW_OP_call_frame_cfa || n > 2)
		return false;
	if (n == 2 && ops[1].atom != DW_OP_plus_uconst)
		return false;
	*offset = n == 2 ? (int64_t)ops[1].number : 0;
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
	else if (is_saved(ops, n, &offset) &&
		 in_words(offset, INT8_MIN, PLUMB_UNWIND_LOST - 1, &words))
		row->bp = words;
	else if (row->how == PLUMB_UNWIND_ALIGNED && n == 1 && ops[0].atom == DW_OP_breg6 &&
		 !ops[0].number)
		row->bp = 0;
}

static struct plumb_unwind_row row_of(Dwarf_Frame *frame, bool is_signal)
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
	if ((!is_rdi && (!is_saved(ops, n, &offset) || offset != -8)) || !judge_cfa(frame, &row))
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

/* --- all of a file --- */

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

/* Of the function at ADDRESS; returns where it ends. */
static uint64_t add_function(struct unwind_rows *rows, Dwarf_CFI *cfi, uint64_t address,
			     uint64_t next, uint64_t deadline)
{
	Dwarf_Addr start, end;
	Dwarf_Frame *frame;
	bool is_signal;

	while (cfi && address < next && rows->n < UNWIND_ROWS_MAX && plumb_cpu_time() < deadline) {
		if (dwarf_cfi_addrframe(cfi, address, &frame))
			break;
		if (dwarf_frame_info(frame, &start, &end, &is_signal) < 0 || end <= address) {
			free(frame);
			break;
		}
		append(rows, address, row_of(frame, is_signal));
		free(frame);
		address = end;
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
			  Dwarf_CFI *cfi, Dwarf_CFI *debug, uint64_t deadline)
{
	uint64_t end = 0, next;

	for (size_t i = 0; i < starts->n; i++) {
		const struct unwind_start *s = &starts->all[i];

		if (s->is_debug && s->address < end) /* it is in both */
			continue;
		if (s->address < end || s->address < rows->base ||
		    s->address - rows->base > UINT32_MAX || rows->n >= UNWIND_ROWS_MAX ||
		    plumb_cpu_time() > deadline)
			return false;
		for (size_t j = i + 1; j < starts->n && starts->all[j].address == s->address; j++)
			i = j;
		next = i + 1 < starts->n ? starts->all[i + 1].address : UINT64_MAX;
		end = add_function(rows, s->is_debug ? debug : cfi, s->address, next, deadline);
		if (next > end && end - rows->base <= UINT32_MAX)
			append(rows, end, without_table(elf, end, next));
	}
	return true;
}

struct unwind_rows unwind_rows_of(Elf *elf)
{
	const uint64_t deadline = plumb_cpu_time() + LONGEST;
	struct unwind_rows rows = {};
	Dwarf_CFI *cfi, *debug;
	struct unwind_starts starts;
	struct rlimit memory;
	GElf_Ehdr header;
	Dwarf *dwarf;

	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || !lowest_address(elf, &rows.base))
		return rows;
	limit_memory(&memory);
	starts = unwind_starts_of(elf);
	cfi = starts.n ? dwarf_getcfi_elf(elf) : NULL;
	dwarf = starts.has_debug ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	debug = dwarf ? dwarf_getcfi(dwarf) : NULL;
	if (!add_functions(&rows, elf, &starts, cfi, debug, deadline)) {
		free(rows.all);
		rows = (struct unwind_rows){.is_too_large = rows.n >= UNWIND_ROWS_MAX ||
							    plumb_cpu_time() > deadline};
	}
	dwarf_end(dwarf);
	if (cfi)
		dwarf_cfi_end(cfi);
	free(starts.all);
	setrlimit(RLIMIT_DATA, &memory);
	unwind_add_go(elf, &rows, deadline);
	return rows;
}
