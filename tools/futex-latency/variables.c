/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files may be malicious: libelf checks what they say of places against their size, and no more
 * than this is read of a table.
 */
#include "variables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/elffile.h>

#define MOST_BYTES (128UL << 20)

struct variable {
	uint64_t address, size;
	char *name;
};

struct variables {
	dev_t device;
	ino_t inode;
	GElf_Phdr *segments; /* that can be written to */
	size_t n_segments;
	struct variable *all; /* by address */
	size_t n;
};

static int by_address(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static void read_segments(struct variables *v, Elf *elf)
{
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & PF_W)
			*plumb_append(v->segments, v->n_segments) = p;
}

/* Adds the variables of the first table of this TYPE; false: there is none. */
static bool read_symbols(struct variables *v, Elf *elf, uint32_t type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header = {};
	Elf_Data *data;
	GElf_Sym s;

	while ((section = elf_nextscn(elf, section)) && gelf_getshdr(section, &header))
		if (header.sh_type == type && header.sh_size <= MOST_BYTES)
			break;
	data = section ? elf_getdata(section, NULL) : NULL;
	for (int i = 0; data && gelf_getsym(data, i, &s); i++) {
		const char *name = GELF_ST_TYPE(s.st_info) == STT_OBJECT && s.st_size &&
						   s.st_shndx != SHN_UNDEF
					   ? elf_strptr(elf, header.sh_link, s.st_name)
					   : NULL;

		if (name && *name)
			*plumb_append(v->all, v->n) =
				(struct variable){s.st_value, s.st_size, plumb_copied(name)};
	}
	return data != NULL;
}

/* Of the whole table of symbols, which may be in the debug file, or of those for other files. */
static void read_all(struct variables *v, Elf *elf, const struct plumb_vma *vma, uid_t owner)
{
	int fd = -1;
	Elf *debug;

	if (!read_symbols(v, elf, SHT_SYMTAB)) {
		fd = plumb_debug_open(elf, vma->path, -1, owner);
		debug = fd >= 0 ? plumb_elf_begin(fd, ELF_C_READ) : NULL;
		if (!debug || !read_symbols(v, debug, SHT_SYMTAB))
			read_symbols(v, elf, SHT_DYNSYM);
		elf_end(debug);
		if (fd >= 0)
			close(fd);
	}
	if (v->n)
		qsort(v->all, v->n, sizeof(*v->all), by_address);
}

const struct variables *variables_of(int fd, const struct plumb_vma *vma)
{
	static struct variables **files;
	static size_t n;
	struct variables *v;
	struct stat st;
	Elf *elf;

	if (fstat(fd, &st))
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (files[i]->device == st.st_dev && files[i]->inode == st.st_ino)
			return files[i];
	v = plumb_zeroed(1, sizeof(*v));
	v->device = st.st_dev;
	v->inode = st.st_ino;
	*plumb_append(files, n) = v;
	elf = plumb_elf_begin(fd, ELF_C_READ);
	if (elf_kind(elf) == ELF_K_ELF) {
		read_segments(v, elf);
		read_all(v, elf, vma, st.st_uid);
	}
	elf_end(elf);
	return v;
}

bool variables_address(const struct variables *v, uint64_t offset, uint64_t *address)
{
	for (size_t i = 0; i < v->n_segments; i++) {
		const GElf_Phdr *s = &v->segments[i];
		/* Mappings begin with the page that the segment begins in. */
		const uint64_t before = s->p_align ? s->p_offset & (s->p_align - 1) : 0;

		if (offset < s->p_offset - before || offset >= s->p_offset + s->p_filesz)
			continue;
		*address = s->p_vaddr + (offset - s->p_offset);
		return true;
	}
	return false;
}

bool variables_have(const struct variables *v, uint64_t address)
{
	for (size_t i = 0; i < v->n_segments; i++) {
		const GElf_Phdr *s = &v->segments[i];

		if (address >= s->p_vaddr && address - s->p_vaddr < s->p_memsz)
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
