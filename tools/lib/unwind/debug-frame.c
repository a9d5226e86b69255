/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "debug-frame.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/elffile.h>

#include "rows.h"

/* What ".zdebug_" sections begin with, which older compilers wrote. */
#define OLD_FORM "ZLIB"

const Elf_Data *unwind_section(Elf_Scn *section, const GElf_Shdr *header)
{
	const Elf_Data *data;

	if (!section || header->sh_type == SHT_NOBITS)
		return NULL;
	if (header->sh_flags & SHF_COMPRESSED && elf_compress(section, 0, 0) < 0)
		return NULL;
	data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size < sizeof(OLD_FORM) ||
	    memcmp(data->d_buf, OLD_FORM, strlen(OLD_FORM)))
		return data;
	return elf_compress_gnu(section, 0, 0) < 0 ? NULL : elf_rawdata(section, NULL);
}

static const Elf_Data *find(Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = plumb_elf_section(elf, ".debug_frame", &header)
				   ?: plumb_elf_section(elf, ".zdebug_frame", &header);

	return unwind_section(section, &header);
}

/*
 * An ELF file of DATA as its only section.  Of a whole file libdw would decompress all debugging
 * information first, of which there may be gigabytes.
 */
static char *make_alone(uint16_t machine, const Elf_Data *data, size_t *size)
{
	static const char names[] = "\0.shstrtab\0.debug_frame";
	struct {
		Elf64_Ehdr header;
		Elf64_Shdr sections[3];
		char names[sizeof(names)];
	} begin = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = machine,
			   .e_version = EV_CURRENT,
			   .e_shoff = sizeof(begin.header),
			   .e_ehsize = sizeof(begin.header),
			   .e_shentsize = sizeof(*begin.sections),
			   .e_shnum = 3,
			   .e_shstrndx = 1},
		.sections = {{.sh_type = SHT_NULL},
			     {.sh_name = 1,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(typeof(begin), names),
			      .sh_size = sizeof(names)},
			     {.sh_name = sizeof("\0.shstrtab"),
			      .sh_type = SHT_PROGBITS,
			      .sh_offset = sizeof(begin),
			      .sh_size = data->d_size}},
	};
	char *image;

	memcpy(begin.names, names, sizeof(names));
	*size = sizeof(begin) + data->d_size;
	image = malloc(*size);
	if (!image)
		return NULL;
	memcpy(image, &begin, sizeof(begin));
	memcpy(image + sizeof(begin), data->d_buf, data->d_size);
	return image;
}

struct unwind_debug_frame unwind_debug_frame_of(Elf *elf, Elf *debug)
{
	struct unwind_debug_frame frame = {};
	const Elf_Data *data = find(elf);
	uint64_t address, there;
	GElf_Ehdr header;
	size_t size;

	/* Its addresses are those of the file as that was before it was prelinked. */
	if (!data && debug && unwind_lowest_address(elf, &address) &&
	    unwind_lowest_address(debug, &there)) {
		data = find(debug);
		frame.bias = address - there;
	}
	if (!data || !data->d_size || !gelf_getehdr(elf, &header))
		return frame;
	frame.image = make_alone(header.e_machine, data, &size);
	frame.alone = frame.image ? elf_memory(frame.image, size) : NULL;
	frame.dwarf = dwarf_begin_elf(frame.alone, DWARF_C_READ, NULL);
	frame.cfi = frame.dwarf ? dwarf_getcfi(frame.dwarf) : NULL;
	frame.data = frame.cfi ? find(frame.alone) : NULL;
	return frame;
}

void unwind_debug_frame_free(struct unwind_debug_frame *frame)
{
	dwarf_end(frame->dwarf);
	elf_end(frame->alone);
	free(frame->image);
}
