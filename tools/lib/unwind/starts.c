/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "starts.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/elffile.h>

#include "rows.h"

/*
 * .eh_frame_hdr (Linux Standard Base, Core, 10.6.2): four bytes, of which the last three say how
 * what follows is written, the address of .eh_frame, the number of functions, and for each its
 * beginning and that of its entry, sorted.  All linkers write it in this form.
 */
#define HEADER_SIZE 12
#define VERSION     1
#define UDATA4      0x03
#define RELATIVE    0x3b /* to the header, 4 bytes, signed */

static void read_header(const Elf_Data *data, uint64_t address, struct unwind_starts *s)
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
		*plumb_append(s->all, s->n) =
			(struct unwind_start){.address = address + (int64_t)distance};
	}
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

/* Of two at one address, the one in .eh_frame comes first. */
static int by_address(const void *a, const void *b)
{
	const struct unwind_start *p = a, *q = b;

	if (p->address != q->address)
		return p->address < q->address ? -1 : 1;
	return p->is_debug - q->is_debug;
}

/*
 * ADDRESS: that of .eh_frame; 0: it is .debug_frame, in which addresses are whole, and BIAS below
 * those of the file.
 */
static void read_table(Elf *elf, const Elf_Data *data, uint64_t address, uint64_t bias,
		       struct unwind_starts *s)
{
	const unsigned char *ident = (const unsigned char *)elf_getident(elf, NULL);
	uint64_t known = UINT64_MAX, value;
	uint8_t encoding = DW_EH_PE_omit;
	Dwarf_Off at = 0, next, ignored;
	Dwarf_CFI_Entry entry, cie;

	for (; !dwarf_next_cfi(ident, (Elf_Data *)data, address, at, &next, &entry); at = next) {
		if (dwarf_cfi_cie_p(&entry))
			continue;
		if (!address) {
			encoding = DW_EH_PE_absptr;
		} else if (entry.fde.CIE_pointer != known) {
			known = entry.fde.CIE_pointer;
			encoding = DW_EH_PE_omit;
			if (!dwarf_next_cfi(ident, (Elf_Data *)data, true, known, &ignored, &cie) &&
			    dwarf_cfi_cie_p(&cie))
				encoding = encoding_of(&cie.cie);
		}
		if (s->n < UNWIND_ROWS_MAX &&
		    read_start(entry.fde.start, data, address, encoding, &value))
			*plumb_append(s->all, s->n) = (struct unwind_start){.address = value + bias,
									    .is_debug = !address};
	}
}

struct unwind_starts unwind_starts_of(Elf *elf, const struct unwind_debug_frame *frame)
{
	struct unwind_starts s = {};
	const Elf_Data *data;
	GElf_Phdr segment;
	GElf_Shdr header;
	Elf_Scn *section;
	size_t n;

	for (size_t i = 0; !elf_getphdrnum(elf, &n) && i < n; i++) {
		if (!gelf_getphdr(elf, i, &segment) || segment.p_type != PT_GNU_EH_FRAME)
			continue;
		data = elf_getdata_rawchunk(elf, segment.p_offset, segment.p_filesz, ELF_T_BYTE);
		if (data)
			read_header(data, segment.p_vaddr, &s);
	}
	/* Programs that are linked statically have no header. */
	section = s.n ? NULL : plumb_elf_section(elf, ".eh_frame", &header);
	data = unwind_section(section, &header);
	if (data && header.sh_addr)
		read_table(elf, data, header.sh_addr, 0, &s);
	/* Code that is built with debugging information may have its table only there. */
	if (frame->data)
		read_table(elf, frame->data, 0, frame->bias, &s);
	if (s.n)
		qsort(s.all, s.n, sizeof(*s.all), by_address);
	return s;
}
