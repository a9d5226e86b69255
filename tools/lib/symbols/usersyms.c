/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/symbols/usersyms.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/debugfile.h>

/* Maximum size of a table; a sparse file can claim to have a larger one. */
#define TABLE (256UL << 20)

/* Maximum number of versions that a file defines; libc has some 40. */
#define VERSIONS 1024

/* A symbol table, of a section or of the dynamic segment. */
struct table {
	Elf_Data *symbols, *strings;
	Elf_Data *versions, *definitions; /* .gnu.version and .gnu.version_d; NULL: none */
};

struct reading {
	Elf *elf; /* the file that is probed */
	struct plumb_usersyms *syms;
	const char *defined[VERSIONS]; /* names of the versions that the table's file defines */
};

static const char *text_at(const Elf_Data *strings, size_t at)
{
	const char *text = strings->d_buf;

	if (!text || at >= strings->d_size || !memchr(text + at, 0, strings->d_size - at))
		return NULL;
	return text + at;
}

/* --- a table --- */

static void read_versions(struct reading *r, const struct table *t)
{
	GElf_Verdaux name;
	GElf_Verdef d;
	int at = 0;

	memset(r->defined, 0, sizeof(r->defined));
	for (size_t i = 0; t->definitions && i < VERSIONS; i++) {
		if (!gelf_getverdef(t->definitions, at, &d))
			return;
		if (d.vd_ndx < VERSIONS && !(d.vd_flags & VER_FLG_BASE) &&
		    gelf_getverdaux(t->definitions, at + d.vd_aux, &name))
			r->defined[d.vd_ndx] = text_at(t->strings, name.vda_name);
		if (!d.vd_next || d.vd_next > t->definitions->d_size)
			return;
		at += d.vd_next;
	}
}

/* The name of the version of symbol I: from its table, or from the name itself. */
static const char *version_of(const struct reading *r, const struct table *t, size_t i,
			      const char *name)
{
	const char *at = strchr(name, '@');
	GElf_Versym version;

	if (at)
		return at + 1 + (at[1] == '@');
	if (!t->versions || !gelf_getversym(t->versions, i, &version))
		return NULL;
	version &= 0x7fff; /* without the flag of versions other than the default */
	return version < VERSIONS ? r->defined[version] : NULL;
}

static void read_table(struct reading *r, const struct table *t)
{
	GElf_Sym s;

	if (!t->symbols || !t->strings)
		return;
	read_versions(r, t);
	for (int i = 0; gelf_getsym(t->symbols, i, &s); i++) {
		int type = GELF_ST_TYPE(s.st_info);
		struct plumb_usersym symbol = {
			.address = s.st_value,
			.size = s.st_size,
			.is_ifunc = type == STT_GNU_IFUNC,
		};

		if (s.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC) ||
		    !plumb_elf_offset(r->elf, s.st_value, PF_X, &symbol.offset))
			continue;
		symbol.name = text_at(t->strings, s.st_name);
		if (!symbol.name || !*symbol.name)
			continue;
		symbol.length = strcspn(symbol.name, "@");
		symbol.version = version_of(r, t, i, symbol.name);
		*plumb_append(r->syms->all, r->syms->n) = symbol;
	}
}

/* --- tables of sections --- */

static Elf_Data *data_of(Elf_Scn *section, GElf_Word type)
{
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) || header.sh_type != type ||
	    header.sh_size > TABLE)
		return NULL;
	return elf_getdata(section, NULL);
}

/* Finds the version tables of the dynamic symbols. */
static void find_versions(Elf *elf, struct table *t)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section))) {
		data = data_of(section, SHT_GNU_versym);
		t->versions = data ?: t->versions;
		data = data_of(section, SHT_GNU_verdef);
		t->definitions = data ?: t->definitions;
	}
}

/* Reads the symbol tables of ELF, which has the addresses of the file; returns their number. */
static size_t read_sections(struct reading *r, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t n = 0;

	while ((section = elf_nextscn(elf, section))) {
		struct table t = {};

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		t.symbols = data_of(section, header.sh_type);
		t.strings = data_of(elf_getscn(elf, header.sh_link), SHT_STRTAB);
		if (header.sh_type == SHT_DYNSYM)
			find_versions(elf, &t);
		r->syms->whole |= t.symbols && header.sh_type == SHT_SYMTAB;
		n += t.symbols != NULL;
		read_table(r, &t);
	}
	return n;
}

/* --- tables of the dynamic segment, for files without section headers --- */

struct dynamic {
	uint64_t symbols, strings, strings_size, hash, gnu_hash, versions, definitions;
};

static void read_dynamic(Elf *elf, const GElf_Phdr *p, struct dynamic *found)
{
	Elf_Data *data = p->p_filesz > TABLE
				 ? NULL
				 : elf_getdata_rawchunk(elf, p->p_offset, p->p_filesz, ELF_T_DYN);
	GElf_Dyn d;

	for (int i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++) {
		uint64_t *value = d.d_tag == DT_SYMTAB     ? &found->symbols
				  : d.d_tag == DT_STRTAB   ? &found->strings
				  : d.d_tag == DT_STRSZ    ? &found->strings_size
				  : d.d_tag == DT_HASH     ? &found->hash
				  : d.d_tag == DT_GNU_HASH ? &found->gnu_hash
				  : d.d_tag == DT_VERSYM   ? &found->versions
				  : d.d_tag == DT_VERDEF   ? &found->definitions
							   : NULL;

		if (value)
			*value = d.d_un.d_val;
	}
}

/* SIZE bytes at ADDRESS, at most to the end of its segment; NULL: none. */
static Elf_Data *data_at(Elf *elf, uint64_t address, uint64_t size, Elf_Type type)
{
	uint64_t within;
	GElf_Phdr p;

	if (!address || !plumb_elf_segment(elf, address, 0, &p))
		return NULL;
	within = address - p.p_vaddr;
	size = size < p.p_filesz - within ? size : p.p_filesz - within;
	return size > TABLE ? NULL : elf_getdata_rawchunk(elf, p.p_offset + within, size, type);
}

/* The number of symbols, from the table that is used to look them up. */
static size_t count_symbols(Elf *elf, const struct dynamic *d)
{
	Elf_Data *data = data_at(elf, d->hash, 2 * sizeof(uint32_t), ELF_T_WORD);
	const uint32_t *word = data ? data->d_buf : NULL;
	size_t n_buckets, first, bloom, n, last = 0;

	if (word && data->d_size == 2 * sizeof(*word))
		return word[1];
	data = data_at(elf, d->gnu_hash, TABLE, ELF_T_WORD);
	word = data ? data->d_buf : NULL;
	n = data ? data->d_size / sizeof(*word) : 0;
	if (!word || n < 4)
		return 0;
	n_buckets = word[0];
	first = word[1];
	bloom = (size_t)word[2] * (gelf_getclass(elf) == ELFCLASS64 ? 2 : 1);
	if (n_buckets > n || bloom > n || 4 + bloom + n_buckets > n)
		return 0;
	for (size_t i = 0; i < n_buckets; i++)
		if (word[4 + bloom + i] > last)
			last = word[4 + bloom + i];
	if (last < first)
		return first;
	/* The last symbol of a chain has the lowest bit set. */
	for (word += 4 + bloom + n_buckets, n -= 4 + bloom + n_buckets; last - first < n; last++)
		if (word[last - first] & 1)
			return last + 1;
	return 0;
}

static void read_segments(struct reading *r, Elf *elf)
{
	struct dynamic d = {};
	struct table t = {};
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_DYNAMIC)
			read_dynamic(elf, &p, &d);
	n = count_symbols(elf, &d);
	if (!n || !d.strings_size)
		return;
	t.symbols =
		data_at(elf, d.symbols, n * gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT), ELF_T_SYM);
	t.strings = data_at(elf, d.strings, d.strings_size, ELF_T_BYTE);
	t.versions = data_at(elf, d.versions, n * sizeof(GElf_Versym), ELF_T_HALF);
	t.definitions = data_at(elf, d.definitions, TABLE, ELF_T_VDEF);
	read_table(r, &t);
}

/* --- all --- */

static int by_offset(const void *left, const void *right)
{
	const struct plumb_usersym *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return strcmp(a->name, b->name);
}

int plumb_usersyms_open_debug(const struct plumb_elf *file)
{
	/* A path below /proc/PID/root is not resolved: its links are relative to that root. */
	char *path = *file->path == '/' ? strdup(file->path) : realpath(file->path, NULL);
	struct stat st;
	int fd = path && !fstat(file->fd, &st) ? plumb_debug_open(file->elf, path, -1, st.st_uid)
					       : -ENOENT;

	free(path);
	return fd;
}

/* Reads the symbols that a stripped file has elsewhere. */
static void read_elsewhere(struct reading *r, const struct plumb_elf *file)
{
	struct plumb_usersyms *s = r->syms;
	bool damaged;
	size_t size;

	s->debug_fd = plumb_usersyms_open_debug(file);
	if (s->debug_fd >= 0)
		s->debug = plumb_elf_begin(s->debug_fd, ELF_C_READ);
	if (s->debug)
		read_sections(r, s->debug);
	if (s->whole)
		return;
	s->image = plumb_debug_mini(file->elf, &size, &damaged);
	if (s->image)
		s->mini = elf_memory(s->image, size);
	if (s->mini)
		read_sections(r, s->mini);
}

void plumb_usersyms_read(const struct plumb_elf *file, struct plumb_usersyms *syms)
{
	struct reading r = {.elf = file->elf, .syms = syms};
	GElf_Shdr text;

	*syms = (struct plumb_usersyms){.debug_fd = -1};
	syms->is_debug_file =
		plumb_elf_section(file->elf, ".text", &text) && text.sh_type == SHT_NOBITS;
	if (!read_sections(&r, file->elf))
		read_segments(&r, file->elf);
	if (!syms->whole)
		read_elsewhere(&r, file);
	if (syms->n)
		qsort(syms->all, syms->n, sizeof(*syms->all), by_offset);
}

void plumb_usersyms_free(struct plumb_usersyms *syms)
{
	elf_end(syms->debug);
	elf_end(syms->mini);
	if (syms->debug_fd >= 0)
		close(syms->debug_fd);
	free(syms->image);
	free(syms->all);
	*syms = (struct plumb_usersyms){.debug_fd = -1};
}
