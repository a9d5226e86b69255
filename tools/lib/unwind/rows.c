/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "rows.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/clock.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/elffile.h>

/* Numbers of DWARF, in the psABI of x86_64. */
#define RDI 5
#define RBP 6
#define RSP 7
#define RIP 16

#define LONGEST (2 * PLUMB_SECOND) /* for a file */

/* --- where functions begin --- */

/*
 * .eh_frame_hdr (Linux Standard Base, Core, 10.6.2): four bytes, of which the last three say how
 * what follows is written, the address of .eh_frame, the number of functions, and for each its
 * beginning and that of its entry, sorted.  All linkers write it in this form.
 */
#define HEADER_SIZE 12
#define VERSION     1
#define UDATA4      0x03
#define RELATIVE    0x3b /* to the header, 4 bytes, signed */

struct starts {
	uint64_t *all; /* sorted */
	size_t n;
};

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

static void read_header(const Elf_Data *data, uint64_t address, struct starts *s)
{
	const unsigned char *at = data->d_buf;
	int32_t distance;
	uint32_t n;

	if (data->d_size < HEADER_SIZE || at[0] != VERSION || at[2] != UDATA4 || at[3] != RELATIVE)
		return;
	memcpy(&n, at + 8, sizeof(n));
	if (n > (data->d_size - HEADER_SIZE) / 8)
		n = (data->d_size - HEADER_SIZE) / 8;
	for (at += HEADER_SIZE; s->n < n; at += 8) {
		memcpy(&distance, at, sizeof(distance));
		*plumb_append(s->all, s->n) = address + (int64_t)distance;
	}
}

/* Programs that are linked statically have no header, only the table itself. */
static const Elf_Data *find_table(Elf *elf, GElf_Shdr *header)
{
	Elf_Scn *section = plumb_elf_section(elf, ".eh_frame", header);

	return section && header->sh_type != SHT_NOBITS ? elf_rawdata(section, NULL) : NULL;
}

/* How a common entry says that addresses are written: after "R" of its augmentation, here "zR". */
static uint8_t encoding_of(const Dwarf_CIE *cie)
{
	const uint8_t *at = cie->augmentation_data;
	const char *letter = cie->augmentation;

	if (*letter++ != 'z')
		return DW_EH_PE_absptr;
	for (size_t left = cie->augmentation_data_size, size; left; letter++) {
		if (*letter == 'R')
			return *at;
		/* A byte, or none; with "P" an address besides, of 4 bytes or 8. */
		size = *letter == 'L' ? 1 : 0;
		if (*letter == 'P')
			size = 1 + ((*at & 0xf) == DW_EH_PE_absptr ? 8 : 4);
		else if (*letter != 'L' && *letter != 'S')
			break;
		if (size > left)
			break;
		left -= size;
		at += size;
	}
	return DW_EH_PE_omit;
}

/* The address at START, which is in the table DATA at ADDRESS. */
static bool read_start(const uint8_t *start, const Elf_Data *data, uint64_t address,
		       uint8_t encoding, uint64_t *value)
{
	const uint64_t offset = start - (const uint8_t *)data->d_buf;
	int32_t word;

	if ((encoding & 0xf) == DW_EH_PE_absptr && offset + 8 <= data->d_size) {
		memcpy(value, start, sizeof(*value));
	} else if ((encoding & 0xf) == DW_EH_PE_sdata4 && offset + 4 <= data->d_size) {
		memcpy(&word, start, sizeof(word));
		*value = (int64_t)word;
	} else {
		return false;
	}
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		*value += address + offset;
	return !(encoding & 0x70) || (encoding & 0x70) == DW_EH_PE_pcrel;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *p = a, *q = b;

	return (*p > *q) - (*p < *q);
}

static void read_table(Elf *elf, const Elf_Data *data, uint64_t address, struct starts *s)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	uint64_t known = UINT64_MAX, value;
	uint8_t encoding = DW_EH_PE_omit;
	Dwarf_Off at = 0, next, ignored;
	Dwarf_CFI_Entry entry, cie;

	for (; !dwarf_next_cfi(ident, (Elf_Data *)data, true, at, &next, &entry); at = next) {
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (entry.fde.CIE_pointer != known) {
			known = entry.fde.CIE_pointer;
			encoding = DW_EH_PE_omit;
			if (!dwarf_next_cfi(ident, (Elf_Data *)data, true, known, &ignored, &cie) &&
			    dwarf_cfi_cie_p(&cie))
				encoding = encoding_of(&cie.cie);
		}
		if (s->n < UNWIND_ROWS_MAX &&
		    read_start(entry.fde.start, data, address, encoding, &value))
			*plumb_append(s->all, s->n) = value;
	}
	if (s->n)
		qsort(s->all, s->n, sizeof(*s->all), by_value);
}

static struct starts find_starts(Elf *elf)
{
	struct starts s = {};
	const Elf_Data *data;
	GElf_Phdr segment;
	GElf_Shdr header;
	size_t n;

	for (size_t i = 0; !elf_getphdrnum(elf, &n) && i < n; i++) {
		if (!gelf_getphdr(elf, i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf, segment.p_offset, segment.p_filesz, ELF_T_BYTE);
		if (data)
			read_header(data, segment.p_vaddr, &s);
	}
	data = s.n ? NULL : find_table(elf, &header);
	if (data)
		read_table(elf, data, header.sh_addr, &s);
	return s;
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
	if (n == 1 && ops[0].atom == DW_OP_bregx &&
	    (ops[0].number == RSP || ops[0].number == RBP)) {
		row->how = ops[0].number == RSP ? PLUMB_UNWIND_SP : PLUMB_UNWIND_BP;
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
			     uint64_t next)
{
	Dwarf_Addr start, end;
	Dwarf_Frame *frame;
	bool is_signal;

	while (address < next && rows->n < UNWIND_ROWS_MAX) {
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

/* Nothing begins in the padding between two functions. */
#define PADDING 16

struct unwind_rows unwind_rows_of(Elf *elf)
{
	const uint64_t deadline = plumb_cpu_time() + LONGEST;
	struct unwind_rows rows = {};
	uint64_t end = 0, next;
	struct starts starts;
	GElf_Ehdr header;
	Dwarf_CFI *cfi;

	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || !lowest_address(elf, &rows.base))
		return rows;
	starts = find_starts(elf);
	cfi = starts.n ? dwarf_getcfi_elf(elf) : NULL;
	for (size_t i = 0; cfi && i < starts.n; i++) {
		next = i + 1 < starts.n ? starts.all[i + 1] : UINT64_MAX;
		/* It is of no use if it is not sorted, or too long. */
		if (starts.all[i] < end || starts.all[i] < rows.base ||
		    starts.all[i] - rows.base > UINT32_MAX || rows.n >= UNWIND_ROWS_MAX ||
		    plumb_cpu_time() > deadline) {
			free(rows.all);
			rows = (struct unwind_rows){};
			break;
		}
		end = add_function(&rows, cfi, starts.all[i], next);
		if (next - end > PADDING && end - rows.base <= UINT32_MAX)
			append(&rows, end, (struct plumb_unwind_row){});
	}
	if (cfi)
		dwarf_cfi_end(cfi);
	free(starts.all);
	return rows;
}
