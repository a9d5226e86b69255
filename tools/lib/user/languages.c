/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* languages: whether a file is a Go program, or one whose functions exceptions can leave. */
#include "userfuncs.h"

#include <string.h>
#include <plumb/symbols/binary.h>

/* Go's linker adds build information.  It begins within this many bytes of the data, if no section
 * names it. */
#define SEARCHED 65536

/*
 * What follows the magic of build information, in a header of 32 bytes: the size of a pointer, and
 * flags.  From Go 1.18 on the version itself follows, with the flag; before, pointers to it.
 */
static const char magic[] = "\xff Go buildinf:";
enum { FLAGS_AT = 15, HEADER = 32, INLINE_VERSION = 2 };

/* The header in DATA, which may be cut; NULL: none. */
static const unsigned char *find_header(Elf_Data *data, size_t *size)
{
	const unsigned char *at = NULL;

	if (data && data->d_buf)
		at = memmem(data->d_buf, data->d_size, magic, sizeof(magic) - 1);
	if (at)
		*size = (unsigned char *)data->d_buf + data->d_size - at;
	return at;
}

static Elf_Data *chunk(Elf *elf, uint64_t offset, uint64_t size)
{
	return elf_getdata_rawchunk(elf, offset, size < SEARCHED ? size : SEARCHED, ELF_T_BYTE);
}

/* The header of the file's build information; NULL: it is not a Go program. */
static const unsigned char *find_build_info(Elf *elf, size_t *size)
{
	const unsigned char *header = NULL;
	GElf_Shdr section;
	GElf_Phdr p;
	size_t n = 0;

	if (plumb_elf_section(elf, ".go.buildinfo", &section))
		header = find_header(chunk(elf, section.sh_offset, section.sh_size), size);
	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && !header && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & PF_W)
			header = find_header(chunk(elf, p.p_offset, p.p_filesz), size);
	return header;
}

bool plumb_elf_is_go(Elf *elf)
{
	size_t size;

	return find_build_info(elf, &size);
}

bool plumb_elf_has_go_registers(Elf *elf)
{
	size_t size;
	const unsigned char *header = find_build_info(elf, &size);

	return header && size >= HEADER && header[FLAGS_AT] & INLINE_VERSION &&
	       gelf_getclass(elf) == ELFCLASS64;
}

static bool is_unwinder(const char *name)
{
	static const char *const libraries[] = {"libstdc++.so", "libc++.so", "libc++abi.so",
						"libgcc_s.so"};

	for (size_t i = 0; name && i < sizeof(libraries) / sizeof(*libraries); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return false;
}

static bool has_text(Elf_Data *data, const char *text)
{
	return data && data->d_buf && memmem(data->d_buf, data->d_size, text, strlen(text));
}

/* Whether the file is a library, or needs one: neither is a static program that is
 * position-independent. */
static bool is_linked(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn d;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		for (int i = 0; gelf_getdyn(elf_getdata(section, NULL), i, &d); i++)
			if (d.d_tag == DT_NEEDED || d.d_tag == DT_SONAME)
				return true;
	}
	return false;
}

/* Whether the symbol is of such a function; of a dynamic file only what it imports counts. */
static bool switches_stacks(const char *name, const GElf_Sym *s, bool is_dynamic)
{
	static const char *const names[] = {"swapcontext", "makecontext", "jump_fcontext",
					    "make_fcontext"};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return s->st_shndx == SHN_UNDEF || !is_dynamic;
	return false;
}

bool plumb_elf_switches_stacks(Elf *elf)
{
	const bool is_dynamic = is_linked(elf);
	GElf_Shdr header;
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Sym s;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    header.sh_type != (is_dynamic ? SHT_DYNSYM : SHT_SYMTAB))
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; gelf_getsym(data, i, &s); i++)
			if (switches_stacks(elf_strptr(elf, header.sh_link, s.st_name), &s,
					    is_dynamic))
				return true;
	}
	return false;
}

bool plumb_elf_unwinds(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn d;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		data = header.sh_type == SHT_DYNAMIC || header.sh_type == SHT_STRTAB
			       ? elf_getdata(section, NULL)
			       : NULL;
		if (header.sh_type == SHT_STRTAB && (has_text(data, "__gxx_personality_v0") ||
						     has_text(data, "rust_eh_personality")))
			return true;
		for (int i = 0; header.sh_type == SHT_DYNAMIC && gelf_getdyn(data, i, &d); i++)
			if (d.d_tag == DT_NEEDED &&
			    is_unwinder(elf_strptr(elf, header.sh_link, d.d_un.d_val)))
				return true;
	}
	return false;
}

static bool is_program(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr file;
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Dyn d;

	if (!gelf_getehdr(elf, &file) || file.e_type == ET_EXEC)
		return true;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; gelf_getdyn(data, i, &d); i++)
			if (d.d_tag == DT_FLAGS_1 && d.d_un.d_val & DF_1_PIE)
				return true;
	}
	return false;
}

/* Whether the file loads others: it imports dlopen(), or needs more than the C library. */
static bool loads_others(Elf *elf, Elf_Data *data, const GElf_Shdr *header)
{
	static const char *const functions[] = {"dlopen", "dlmopen"};
	const char *name;
	GElf_Dyn d;
	GElf_Sym s;

	for (int i = 0; header->sh_type == SHT_DYNAMIC && gelf_getdyn(data, i, &d); i++) {
		name = d.d_tag == DT_NEEDED ? elf_strptr(elf, header->sh_link, d.d_un.d_val) : NULL;
		if (name && !plumb_elf_is_c_library(name))
			return true;
	}
	for (int i = 0; header->sh_type == SHT_DYNSYM && gelf_getsym(data, i, &s); i++) {
		name = s.st_shndx == SHN_UNDEF ? elf_strptr(elf, header->sh_link, s.st_name) : NULL;
		for (size_t j = 0; name && j < sizeof(functions) / sizeof(*functions); j++)
			if (!strcmp(name, functions[j]))
				return true;
	}
	return false;
}

bool plumb_elf_is_c_library(const char *path)
{
	static const char *const names[] = {"libc",  "libm",      "libpthread", "libdl",
					    "librt", "libresolv", "libutil",    "libanl"};
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (plumb_binary_is_named(name, names[i]))
			return true;
	return !strncmp(name, "ld-", 3);
}

bool plumb_elf_may_unwind(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header, dynamic;

	if (!plumb_elf_section(elf, ".dynsym", &dynamic))
		return !elf_nextscn(elf, NULL); /* static: it has all of it inside */
	if (!is_program(elf))
		return true;
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_DYNAMIC || header.sh_type == SHT_DYNSYM) &&
		    loads_others(elf, elf_getdata(section, NULL), &header))
			return true;
	return false;
}
