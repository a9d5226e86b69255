// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <plumb/symbols/dwarffile.h>

#include <dwarf.h>
#include <sys/stat.h>
#include <plumb/symbols/elffile.h>

/* Larger files are read only if they belong to root. */
#define FILE_MAX (1UL << 30)

/*
 * Whether the file has debug information of a reasonable size, and names no other file, which libdw
 * would open.
 */
static bool is_readable(Elf *elf, const struct stat *st)
{
	Elf_Scn *section = NULL;
	uint64_t size = 0;
	GElf_Shdr header;
	GElf_Chdr compressed;

	if (!plumb_elf_section(elf, ".debug_info", &header) || header.sh_type == SHT_NOBITS ||
	    plumb_elf_section(elf, ".gnu_debugaltlink", &header))
		return false;
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getchdr(section, &compressed))
			size += compressed.ch_size;
	return !st->st_uid || (st->st_size <= (off_t)FILE_MAX && size <= FILE_MAX);
}

bool plumb_dwarf_open(int fd, struct plumb_dwarf *file)
{
	struct stat st;

	*file = (struct plumb_dwarf){};
	if (fstat(fd, &st))
		return false;
	/*
	 * A file that other users may truncate is not mapped, since access would then fail with
	 * SIGBUS.
	 */
	file->elf = plumb_elf_begin(fd, st.st_uid ? ELF_C_READ : ELF_C_READ_MMAP);
	if (file->elf && is_readable(file->elf, &st))
		file->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (!file->dwarf)
		plumb_dwarf_close(file);
	return file->dwarf;
}

void plumb_dwarf_close(struct plumb_dwarf *file)
{
	dwarf_end(file->dwarf);
	elf_end(file->elf);
	*file = (struct plumb_dwarf){};
}

const char *plumb_dwarf_name(Dwarf_Die *die)
{
	static const unsigned int attributes[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
						  DW_AT_name};
	const char *name = NULL;
	Dwarf_Attribute attribute;

	for (size_t i = 0; !name && i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (dwarf_attr_integrate(die, attributes[i], &attribute))
			name = dwarf_formstring(&attribute);
	return name;
}

size_t plumb_dwarf_count_units(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	size_t n = 0;

	while (!dwarf_get_units(dwarf, unit, &unit, NULL, NULL, NULL, NULL))
		n++;
	return n;
}
