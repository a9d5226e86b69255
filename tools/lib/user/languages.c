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

/* --- libraries --- */

static bool is_one_of(const char *const *libraries, size_t n, const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < n; i++)
		if (plumb_binary_is_named(name, libraries[i]))
			return true;
	return false;
}

static bool is_unwinder(const char *path)
{
	static const char *const libraries[] = {"libstdc++", "libc++", "libc++abi", "libgcc_s"};

	return is_one_of(libraries, sizeof(libraries) / sizeof(*libraries), path);
}

bool plumb_elf_is_c_library(const char *path)
{
	static const char *const libraries[] = {"libc",  "libm",      "libpthread", "libdl",
						"librt", "libresolv", "libutil",    "libanl"};
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return is_one_of(libraries, sizeof(libraries) / sizeof(*libraries), path) ||
	       !strncmp(name, "ld-", 3);
}

/* --- what the tables of a file tell --- */

struct facts {
	bool is_linked; /* a library, or needs one: unlike static programs, also those with PIE */
	bool is_pie;    /* a program, though of a library's type */
	bool needs_unwinder; /* a library by which exceptions are thrown */
	bool needs_others;   /* libraries other than the C library's */
	bool unwinds;        /* names a personality routine */
	bool loads;          /* imports dlopen() */
	bool switches;       /* a function by which a thread goes on on another stack */
};

static void look_at_dynamic(Elf *elf, Elf_Data *data, const GElf_Shdr *header, struct facts *f)
{
	const char *name;
	GElf_Dyn d;

	for (int i = 0; gelf_getdyn(data, i, &d); i++) {
		name = d.d_tag == DT_NEEDED ? elf_strptr(elf, header->sh_link, d.d_un.d_val) : NULL;
		f->is_linked |= d.d_tag == DT_NEEDED || d.d_tag == DT_SONAME;
		f->is_pie |= d.d_tag == DT_FLAGS_1 && d.d_un.d_val & DF_1_PIE;
		f->needs_unwinder |= name && is_unwinder(name);
		f->needs_others |= name && !plumb_elf_is_c_library(name);
	}
}

/* Looks at the functions that are imported, or at ALL. */
static void look_at_symbols(Elf *elf, Elf_Data *data, const GElf_Shdr *header, bool all,
			    struct facts *f)
{
	static const char *const loading[] = {"dlopen", "dlmopen"};
	static const char *const switching[] = {"swapcontext", "makecontext", "jump_fcontext",
						"make_fcontext"};
	const char *name;
	GElf_Sym s;

	for (int i = 0; gelf_getsym(data, i, &s); i++) {
		name = all || s.st_shndx == SHN_UNDEF ? elf_strptr(elf, header->sh_link, s.st_name)
						      : NULL;
		for (size_t j = 0; name && j < sizeof(loading) / sizeof(*loading); j++)
			f->loads |= !strcmp(name, loading[j]);
		for (size_t j = 0; name && j < sizeof(switching) / sizeof(*switching); j++)
			f->switches |= !strcmp(name, switching[j]);
	}
}

static bool has_text(Elf_Data *data, const char *text)
{
	return data && data->d_buf && memmem(data->d_buf, data->d_size, text, strlen(text));
}

static void look_at_sections(Elf *elf, GElf_Word type, struct facts *f)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		data = elf_getdata(section, NULL);
		if (type == SHT_DYNAMIC)
			look_at_dynamic(elf, data, &header, f);
		else if (type == SHT_STRTAB)
			f->unwinds |= has_text(data, "__gxx_personality_v0") ||
				      has_text(data, "rust_eh_personality");
		else
			look_at_symbols(elf, data, &header, type == SHT_SYMTAB, f);
	}
}

bool plumb_elf_switches_stacks(Elf *elf)
{
	struct facts f = {};

	look_at_sections(elf, SHT_DYNAMIC, &f);
	look_at_sections(elf, f.is_linked ? SHT_DYNSYM : SHT_SYMTAB, &f);
	return f.switches;
}

bool plumb_elf_unwinds(Elf *elf)
{
	struct facts f = {};

	look_at_sections(elf, SHT_DYNAMIC, &f);
	if (!f.needs_unwinder)
		look_at_sections(elf, SHT_STRTAB, &f);
	return f.needs_unwinder || f.unwinds;
}

bool plumb_elf_may_unwind(Elf *elf)
{
	struct facts f = {};
	GElf_Shdr dynamic;
	GElf_Ehdr file;

	if (!plumb_elf_section(elf, ".dynsym", &dynamic))
		return !elf_nextscn(elf, NULL); /* static: it has all of it inside */
	look_at_sections(elf, SHT_DYNAMIC, &f);
	if (gelf_getehdr(elf, &file) && file.e_type != ET_EXEC && !f.is_pie)
		return true; /* a library */
	look_at_sections(elf, SHT_DYNSYM, &f);
	return f.needs_others || f.loads;
}
