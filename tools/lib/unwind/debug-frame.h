/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* debug-frame: the .debug_frame of a file, or of its debug file. */
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdint.h>

struct unwind_debug_frame {
	Dwarf_CFI *cfi;       /* NULL: there is none */
	const Elf_Data *data; /* decompressed */
	uint64_t bias;        /* the file's addresses are so much above those in it */
	Dwarf *dwarf;
	Elf *alone;
	char *image;
};

/* The section SECTION of HEADER, decompressed; NULL: it has no contents, or is damaged. */
const Elf_Data *unwind_section(Elf_Scn *section, const GElf_Shdr *header);

/* DEBUG: the debug file of ELF; NULL: none.  Needs neither of them later. */
struct unwind_debug_frame unwind_debug_frame_of(Elf *elf, Elf *debug);
void unwind_debug_frame_free(struct unwind_debug_frame *frame);
