// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbols.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/go-table.h>

/*
 * Maximum number of files that are open and not yet read: descriptors are few, and they keep mounts
 * busy.
 */
#define OPEN_MAX_FILES 128

/* Maximum size of a section; a sparse file can claim to have a larger one. */
#define SECTION (256UL << 20)

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/*
 * Copies have the same build id and owner.  Another user can forge a build id, but not the owner.
 */
static bool is_copy(const struct plumb_symfile *a, const struct plumb_symfile *b)
{
	return a->build_id_size && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size) &&
	       a->st.st_size == b->st.st_size && a->st.st_uid == b->st.st_uid;
}

/* If no segment is marked as executable, all of them may contain code. */
static void read_segments(struct plumb_symfile *file, Elf *elf)
{
	bool has_code = false;
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_LOAD) {
			*plumb_append(file->segments, file->n_segments) = (struct plumb_segment){
				p.p_offset, p.p_filesz, p.p_vaddr, p.p_flags & PF_X};
			has_code |= p.p_flags & PF_X;
		}
	for (size_t i = 0; i < file->n_segments && !has_code; i++)
		file->segments[i].is_code = true;
}

static bool has_section(Elf *elf, const char *name)
{
	GElf_Shdr header;

	return plumb_elf_section(elf, name, &header) && header.sh_type != SHT_NOBITS;
}

static void close_file(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void plumb_symfile_free(struct plumb_symfile *file)
{
	if (!file)
		return;
	plumb_inlines_close(file->inlines);
	close_file(&file->fd);
	close_file(&file->debug_fd);
	plumb_symtab_free(&file->table);
	free(file->segments);
	free(file->image);
	free(file->path);
	free(file);
}

static Elf *open_elf(const struct plumb_symfile *file)
{
	return file->image ? elf_memory(file->image, file->image_size)
			   : plumb_elf_begin(file->fd, ELF_C_READ);
}

/* Reads segments and build id, and opens the debug file; false: not an ELF file. */
static bool examine(struct plumb_symbolizer *s, struct plumb_symfile *file, int root)
{
	Elf *elf = open_elf(file);
	bool is_elf = elf_kind(elf) == ELF_K_ELF;

	if (is_elf) {
		read_segments(file, elf);
		file->build_id_size = plumb_elf_build_id(elf, file->build_id);
	}
	if (is_elf && !file->image &&
	    (!has_section(elf, ".symtab") || (s->inlines && !has_section(elf, ".debug_info"))))
		file->debug_fd = plumb_debug_open(elf, file->path, root, file->st.st_uid);
	elf_end(elf);
	return is_elf;
}

/* Reads the symbols of the oldest open file if too many are open. */
static void limit_open_files(struct plumb_symbolizer *s)
{
	struct plumb_symfile *oldest = NULL;

	if (s->open_files <= OPEN_MAX_FILES)
		return;
	for (struct plumb_symfile *f = s->files; f; f = f->next)
		if (f->fd >= 0 && !f->is_read)
			oldest = f;
	plumb_symfile_read(s, oldest);
}

/* Adds FILE, or frees it if it is a copy of a known file; returns the one that is kept. */
static struct plumb_symfile *add(struct plumb_symbolizer *s, struct plumb_symfile *file)
{
	for (struct plumb_symfile *known = s->files; known; known = known->next)
		if (is_copy(known, file)) {
			plumb_symfile_free(file);
			return known;
		}
	file->next = s->files;
	s->files = file;
	s->counts.files++;
	s->open_files += file->fd >= 0;
	limit_open_files(s);
	return file;
}

static struct plumb_symfile *new_file(int fd, const char *path, char *image, size_t size)
{
	struct plumb_symfile *file = plumb_zeroed(1, sizeof(*file));

	file->path = plumb_copied(path);
	file->fd = fd;
	file->debug_fd = -1;
	file->image = image;
	file->image_size = size;
	return file;
}

struct plumb_symfile *plumb_symfile_get(struct plumb_symbolizer *s, int fd, const char *path,
					int root)
{
	struct plumb_symfile *file;
	struct stat st;

	if (fstat(fd, &st)) {
		close(fd);
		return NULL;
	}
	for (file = s->files; file; file = file->next)
		if (is_same(&file->st, &st)) {
			close(fd);
			return file;
		}
	file = new_file(fd, path, NULL, 0);
	file->st = st;
	if (!examine(s, file, root)) {
		if (strncmp(path, "/memfd:", 7)) /* a JIT's memory */
			plumb_symbolizer_unread(s, path, "is not an ELF file");
		close_file(&file->fd);
		file->is_read = true;
	}
	return add(s, file);
}

struct plumb_symfile *plumb_symfile_of_image(struct plumb_symbolizer *s, char *image, size_t size)
{
	struct plumb_symfile *file = new_file(-1, "[vdso]", image, size);

	if (!examine(s, file, -1))
		file->is_read = true;
	return add(s, file);
}

/* --- its symbols --- */

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

/* Adds the functions of all symbol tables in ELF; sets *WHOLE if one is a .symtab.  0 or -errno. */
static int read_tables(struct plumb_symtab *t, Elf *elf, bool *whole)
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

/* Adds the functions of the compressed ELF file in .gnu_debugdata, if there is one; 0 or -errno. */
static int read_minidebug(struct plumb_symtab *t, Elf *elf)
{
	bool damaged;
	size_t size;
	char *image = plumb_debug_mini(elf, &size, &damaged);
	Elf *inner = image ? elf_memory(image, size) : NULL;
	int err = damaged || image ? -ENOEXEC : 0;

	if (inner)
		err = read_tables(t, inner, &(bool){false});
	elf_end(inner);
	free(image);
	return err;
}

/* A stripped program of Go has names all the same. */
static void add_go(struct plumb_symtab *t, Elf *elf)
{
	struct plumb_go_function f;
	struct plumb_go_table table;
	int64_t name;

	if (!plumb_go_table(elf, &table))
		return;
	for (size_t i = 0; i < table.n && plumb_go_function(&table, i, &f); i++) {
		name = plumb_symtab_text(t, f.name, strlen(f.name) + 1);
		if (name < 0 || plumb_symtab_add(t, f.begin, f.end - f.begin, name, 0))
			return;
	}
}

static int read_symbols(struct plumb_symfile *file)
{
	Elf *elf = open_elf(file),
	    *debug = file->debug_fd >= 0 ? plumb_elf_begin(file->debug_fd, ELF_C_READ) : NULL;
	bool whole = false;
	int err = elf ? read_tables(&file->table, elf, &whole) : -ENOEXEC, result;

	if (!whole && debug)
		read_tables(&file->table, debug, &whole);
	if (!whole && elf) {
		result = read_minidebug(&file->table, elf);
		err = err ?: result;
		add_go(&file->table, elf);
	}
	elf_end(debug);
	elf_end(elf);
	return file->table.n ? 0 : err;
}

void plumb_symfile_read(struct plumb_symbolizer *s, struct plumb_symfile *file)
{
	int fd;

	if (file->is_read)
		return;
	file->is_read = true;
	if (read_symbols(file))
		plumb_symbolizer_unread(s, file->path, "is damaged");
	if (file->image)
		return;
	s->open_files--;
	/* The file with DWARF stays open, since its units are read when needed. */
	fd = file->debug_fd >= 0 ? file->debug_fd : file->fd;
	file->inlines = s->inlines ? plumb_inlines_open(fd) : NULL;
	if (!file->inlines || fd != file->fd)
		close_file(&file->fd);
	if (!file->inlines || fd != file->debug_fd)
		close_file(&file->debug_fd);
}

/* --- its image in memory --- */

bool plumb_symfile_address(const struct plumb_symfile *file, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].is_code &&
		    offset - file->segments[i].offset < file->segments[i].size) {
			*address = offset - file->segments[i].offset + file->segments[i].address;
			return true;
		}
	return false;
}

/* Whether the pages of SEGMENT have what is at OFFSET, and at START with the image at BASE. */
static bool is_at(const struct plumb_segment *segment, const struct plumb_vma *vma, uint64_t base)
{
	const uint64_t within = segment->offset & (sysconf(_SC_PAGESIZE) - 1);

	return vma->offset - (segment->offset - within) < segment->size + within &&
	       vma->start - vma->offset == base + segment->address - segment->offset;
}

static bool has_part(const struct plumb_symfile *file, const struct plumb_vma *vma, uint64_t base)
{
	for (size_t i = 0; i < file->n_segments; i++)
		if (is_at(&file->segments[i], vma, base))
			return true;
	return false;
}

bool plumb_symfile_lies_around(const struct plumb_symfile *file, const struct plumb_vma *below,
			       const struct plumb_vma *above, uint64_t start, uint64_t end,
			       uint64_t *offset)
{
	const uint64_t page = sysconf(_SC_PAGESIZE) - 1;

	for (size_t i = 0; i < file->n_segments; i++) {
		const struct plumb_segment *s = &file->segments[i];
		const uint64_t base = below->start - below->offset - (s->address - s->offset);

		if (!is_at(s, below, base) || !has_part(file, above, base))
			continue;
		for (s = file->segments; s < file->segments + file->n_segments; s++)
			if (s->is_code && start >= base + (s->address & ~page) &&
			    end <= base + ((s->address + s->size + page) & ~page)) {
				*offset = start - base - s->address + s->offset;
				return true;
			}
	}
	return false;
}
