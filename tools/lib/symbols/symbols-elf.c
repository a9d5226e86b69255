// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbols.h"
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

/* Maximum size of a section; a sparse file can claim to have a larger one. */
#define SECTION (256UL << 20)

/* Maximum size of .gnu_debugdata when decoded, and of the memory for decoding it. */
#define MINIDEBUG (128UL << 20)

Elf_Scn *plumb_elf_section(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;
	const char *found;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((section = elf_nextscn(elf, section))) {
		found = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name)
						      : NULL;
		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

/* Copies the build id in the notes to ID; its length, or 0. */
static size_t find_build_id(Elf_Data *data, unsigned char id[PLUMB_BUILD_ID_MAX])
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && (at = gelf_getnote(data, at, &note, &name, &desc)))
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz &&
		    note.n_descsz <= PLUMB_BUILD_ID_MAX &&
		    !memcmp((char *)data->d_buf + name, "GNU", 4)) {
			memcpy(id, (char *)data->d_buf + desc, note.n_descsz);
			return note.n_descsz;
		}
	return 0;
}

size_t plumb_elf_build_id(Elf *elf, unsigned char id[PLUMB_BUILD_ID_MAX])
{
	size_t n = 0, length = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; !length && i < n && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_NOTE && p.p_filesz < 1 << 20)
			length = find_build_id(
				elf_getdata_rawchunk(elf, p.p_offset, p.p_filesz,
						     p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				id);
	/* A debug file has no contents for its segments. */
	while (!length && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		    header.sh_size < 1 << 20)
			length = find_build_id(elf_getdata(section, NULL), id);
	return length;
}

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

static int read_table(struct plumb_symtab *t, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Scn *strings = elf_getscn(elf, header->sh_link);
	Elf_Data *data, *text;
	GElf_Shdr of_strings;
	GElf_Sym symbol;
	int64_t base;
	int err = 0;

	if (!strings || !gelf_getshdr(strings, &of_strings) || header->sh_size > SECTION ||
	    of_strings.sh_size > SECTION || of_strings.sh_type != SHT_STRTAB)
		return -ENOEXEC;
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
	GElf_Shdr header;
	int err = 0, result;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		result = read_table(t, elf, section, &header);
		if (!result && header.sh_type == SHT_SYMTAB)
			*whole = true;
		err = err ?: result;
	}
	return err;
}

/* Decompresses SOURCE; malloc'd, or NULL. */
static char *decode(const void *source, size_t n, size_t *size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	char *text = NULL, *more;
	size_t room = 0;
	lzma_ret result = lzma_stream_decoder(&stream, MINIDEBUG, 0);

	stream.next_in = source;
	stream.avail_in = n;
	while (result == LZMA_OK) {
		if (!stream.avail_out) {
			room = room ? 2 * room : 1 << 20;
			more = room <= MINIDEBUG ? realloc(text, room) : NULL;
			if (!more)
				break;
			text = more;
			stream.next_out = (void *)(text + stream.total_out);
			stream.avail_out = room - stream.total_out;
		}
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*size = stream.total_out;
	lzma_end(&stream);
	if (result == LZMA_STREAM_END)
		return text;
	free(text);
	return NULL;
}

int plumb_symtab_read_minidebug(struct plumb_symtab *t, Elf *elf)
{
	GElf_Shdr header;
	Elf_Scn *section = plumb_elf_section(elf, ".gnu_debugdata", &header);
	Elf_Data *data = section && header.sh_size <= SECTION ? elf_rawdata(section, NULL) : NULL;
	char *image;
	size_t size;
	Elf *inner;
	int err = -ENOEXEC;

	if (!section)
		return 0;
	image = data && data->d_buf ? decode(data->d_buf, data->d_size, &size) : NULL;
	inner = image ? elf_memory(image, size) : NULL;
	if (inner)
		err = plumb_symtab_read_elf(t, inner, &(bool){false});
	elf_end(inner);
	free(image);
	return err;
}
