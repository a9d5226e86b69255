/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files may be malicious: all that they say of sizes and places is checked against what can be
 * read.
 */
#include "variables.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/memory.h>

#define MOST_BYTES    (128UL << 20) /* of a table */
#define MOST_SECTIONS 65536

struct variable {
	uint64_t address, size;
	const char *name;
};

struct variables {
	dev_t device;
	ino_t inode;
	Elf64_Phdr *segments;
	size_t n_segments;
	struct variable *all; /* by address */
	size_t n;
	char *names;
};

/* SIZE bytes at OFFSET of the file, with a NUL behind them; NULL: it does not have them. */
static void *read_at(int fd, uint64_t offset, uint64_t size)
{
	char *bytes = size && size <= MOST_BYTES ? malloc(size + 1) : NULL;

	if (bytes && pread(fd, bytes, size, offset) == (ssize_t)size) {
		bytes[size] = 0;
		return bytes;
	}
	free(bytes);
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void add_symbols(struct variables *v, const Elf64_Sym *symbols, size_t n, size_t names_size)
{
	for (size_t i = 0; i < n; i++) {
		const Elf64_Sym *s = &symbols[i];

		if (ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_shndx != SHN_UNDEF &&
		    s->st_size && s->st_name < names_size && v->names[s->st_name])
			*plumb_append(v->all, v->n) =
				(struct variable){s->st_value, s->st_size, v->names + s->st_name};
	}
	if (v->n)
		qsort(v->all, v->n, sizeof(*v->all), by_address);
}

/* Of the whole table of symbols, or else of those that other files may use. */
static void read_symbols(struct variables *v, int fd, const Elf64_Ehdr *header)
{
	const size_t n = header->e_shnum;
	Elf64_Shdr *sections = read_at(fd, header->e_shoff, n * sizeof(*sections));
	const Elf64_Shdr *table = NULL, *names;
	Elf64_Sym *symbols;

	for (size_t i = 0; sections && i < n; i++)
		if (sections[i].sh_type == SHT_SYMTAB ||
		    (!table && sections[i].sh_type == SHT_DYNSYM))
			table = &sections[i];
	names = table && table->sh_link < n ? &sections[table->sh_link] : NULL;
	symbols = names ? read_at(fd, table->sh_offset, table->sh_size) : NULL;
	v->names = symbols ? read_at(fd, names->sh_offset, names->sh_size) : NULL;
	if (v->names)
		add_symbols(v, symbols, table->sh_size / sizeof(*symbols), names->sh_size);
	free(symbols);
	free(sections);
}

static struct variables *read_file(int fd)
{
	struct variables *v;
	Elf64_Ehdr header;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_shentsize != sizeof(Elf64_Shdr))
		return NULL;
	v = plumb_zeroed(1, sizeof(*v));
	v->n_segments = header.e_phnum;
	v->segments = read_at(fd, header.e_phoff, v->n_segments * sizeof(*v->segments));
	if (!v->segments)
		v->n_segments = 0;
	read_symbols(v, fd, &header);
	return v;
}

const struct variables *variables_of(int fd)
{
	static struct variables **files;
	static size_t n;
	struct variables *v;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (files[i]->device == st.st_dev && files[i]->inode == st.st_ino)
			return files[i];
	v = read_file(fd);
	if (!v)
		return NULL;
	v->device = st.st_dev;
	v->inode = st.st_ino;
	*plumb_append(files, n) = v;
	return v;
}

bool variables_address(const struct variables *v, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < v->n_segments; i++) {
		const Elf64_Phdr *s = &v->segments[i];
		/* Mappings begin with the page that the segment begins in. */
		const uint64_t before = s->p_align ? s->p_offset & (s->p_align - 1) : 0;

		if (s->p_type != PT_LOAD || !(s->p_flags & PF_W) || offset < s->p_offset - before ||
		    offset >= s->p_offset + s->p_filesz)
			continue;
		*address = s->p_vaddr + (offset - s->p_offset);
		return true;
	}
	return false;
}

bool variables_have(const struct variables *v, uint64_t address)
{
	for (size_t i = 0; i < v->n_segments; i++) {
		const Elf64_Phdr *s = &v->segments[i];

		if (s->p_type == PT_LOAD && s->p_flags & PF_W && address >= s->p_vaddr &&
		    address - s->p_vaddr < s->p_memsz)
			return true;
	}
	return false;
}

const char *variables_find(const struct variables *v, uint64_t address, uint64_t *offset)
{
	size_t low = 0, high = v->n;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (v->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address - v->all[low - 1].address >= v->all[low - 1].size)
		return NULL;
	*offset = address - v->all[low - 1].address;
	return v->all[low - 1].name;
}
