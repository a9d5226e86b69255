/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * userfuncs: symbols that point inside an instruction, in a damaged or hostile file.  A probe there
 * would change what the program computes.
 */
#include "userfuncs.h"

#include <elfutils/libdw.h>
#include <stdlib.h>

static bool find_address(Elf *elf, uint64_t offset, Dwarf_Addr *address)
{
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, &p); i++) {
		*address = offset - p.p_offset + p.p_vaddr;
		if (p.p_type == PT_LOAD && offset - p.p_offset < p.p_filesz)
			return true;
	}
	return false;
}

/*
 * The offset of an instruction at OFFSET or before it, by the unwind tables (.eh_frame): of the
 * last one after which unwinding changes, or of the function's first.
 */
static bool find_known(Elf *elf, Dwarf_CFI *cfi, uint64_t offset, uint64_t *known)
{
	Dwarf_Addr address, start, end;
	Dwarf_Frame *frame;
	bool found;

	if (!find_address(elf, offset, &address) || dwarf_cfi_addrframe(cfi, address, &frame))
		return false;
	found = dwarf_frame_info(frame, &start, &end, NULL) >= 0 && start <= address &&
		address < end && address - start <= offset;
	*known = offset - (address - start);
	free(frame);
	return found;
}

void plumb_userfuncs_check_starts(const struct plumb_elf *file, struct plumb_userfuncs *found)
{
	Dwarf_CFI *cfi = NULL;
	GElf_Shdr header;
	uint64_t known;

	/* Without this section libdw (0.188) leaks what libelf has read. */
	if (plumb_elf_section(file->elf, ".eh_frame", &header))
		cfi = dwarf_getcfi_elf(file->elf);
	for (size_t i = 0; cfi && i < found->n; i++)
		if (!found->list[i].obstacle &&
		    find_known(file->elf, cfi, found->list[i].offset, &known) &&
		    plumb_userfuncs_is_inside(file, known, found->list[i].offset))
			found->list[i].obstacle = "its symbol points inside an instruction";
	if (cfi)
		dwarf_cfi_end(cfi);
}
