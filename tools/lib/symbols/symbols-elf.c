// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbols.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Maximum size of a section; a sparse file can claim to have a larger one. */
#define SECTION (256UL << 20)

/* Whether the symbol is a function or a label in code; sets its size and rank. */
static bool is_code(Elf *elf, const GElf_Sym *symbol, const char *name, uint64_t *size,
		    unsigned int *rank)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
	GElf_Shdr header;

	*rank = GELF_ST_BIND(symbol->st_info) == STB_LOCAL ? PLUMB_SYMTAB_LOCAL : 0;
	*size = symbol->st_size;
	if (symbol->st_shndx == SHN_UNDEF || !*name)
		return false;
	if (type == STT_NOTYPE && *name != '$' && strncmp(name, ".L", 2))
		*rank |= PLUMB_SYMTAB_LABEL;
	else if (type != STT_FUNC && type != STT_GNU_IFUNC)
		return false;
	/* All but functions with a size are checked against their section. */
	if (*size && !(*rank & PLUMB_SYMTAB_LABEL))
		return true;
	if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
	    symbol->st_value - header.sh_addr >= header.sh_size)
		return false;
	if (!*size) {
		*size = header.sh_addr + header.sh_size - symbol->st_value;
		*rank |= PLUMB_SYMTAB_UNSIZED;
	}
	return true;
}

/* BUDGET: how much may be read of the file yet. */
static int read_table(struct plumb_symtab *t, Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
		      uint64_t *budget)
{
	Elf_Scn *strings = elf_getscn(elf, header->sh_link);
	Elf_Data *data, *text;
	GElf_Shdr of_strings;
	GElf_Sym symbol;
	int64_t base;
	int err = 0;

	if (!strings || !gelf_getshdr(strings, &of_strings) || header->sh_size > SECTION ||
	    of_strings.sh_size > SECTION || of_strings.sh_type != SHT_STRTAB ||
	    header->sh_size + of_strings.sh_size > *budget)
		return -ENOEXEC;
	*budget -= header->sh_size + of_strings.sh_size;
	data = elf_getdata(section, NULL);
	text = elf_getdata(strings, NULL);
	if (!data || !text || !text->d_buf)
		return -ENOEXEC;
	base = plumb_symtab_text(t, text->d_buf, text->d_size);
	if (base < 0)
		return base;
	for (int i = 0; !err && gelf_getsym(data, i, &symbol); i++) {
		unsigned int rank;
		uint64_t size;

		if (symbol.st_name < text->d_size &&
		    is_code(elf, &symbol, t->text + base + symbol.st_name, &size, &rank))
			err = plumb_symtab_add(t, symbol.st_value, size, base + symbol.st_name,
					       rank);
	}
	return err;
}

int plumb_symtab_read_elf(struct plumb_symtab *t, Elf *elf, bool *whole)
{
	Elf_Scn *section = NULL;
	uint64_t budget = 2 * SECTION;
	GElf_Shdr header;
	int err = 0, result;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		result = read_table(t, elf, section, &header, &budget);
		if (!result && header.sh_type == SHT_SYMTAB)
			*whole = true;
		err = err ?: result;
	}
	return err;
}

int plumb_symtab_read_minidebug(struct plumb_symtab *t, Elf *elf)
{
	bool damaged;
	size_t size;
	char *image = plumb_debug_mini(elf, &size, &damaged);
	Elf *inner = image ? elf_memory(image, size) : NULL;
	int err = damaged || image ? -ENOEXEC : 0;

	if (inner)
		err = plumb_symtab_read_elf(t, inner, &(bool){false});
	elf_end(inner);
	free(image);
	return err;
}
