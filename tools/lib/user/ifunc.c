/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "userfuncs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/maps.h>
#include <plumb/symbols/owners.h>
#include <plumb/user/ifunc.h>

#if defined(__x86_64__)
#define TO_FUNCTION    R_X86_64_JUMP_SLOT
#define TO_SYMBOL      R_X86_64_GLOB_DAT
#define TO_ADDRESS     R_X86_64_64
#define BY_INDIRECTION R_X86_64_IRELATIVE
#else
#define TO_FUNCTION    R_AARCH64_JUMP_SLOT
#define TO_SYMBOL      R_AARCH64_GLOB_DAT
#define TO_ADDRESS     R_AARCH64_ABS64
#define BY_INDIRECTION R_AARCH64_IRELATIVE
#endif

/* Maximum number of implementations of one name: its versions may differ. */
#define IMPLEMENTATIONS 8

/* A mapping of a file. */
struct mapping {
	struct plumb_vma area; /* with a path of its own */
	bool is_first;         /* of its file */
	dev_t dev;
	ino_t ino;
};

struct search {
	pid_t pid;
	struct plumb_owners owners; /* whose modules are read */
	int memory;                 /* of the process */
	const struct plumb_elf *file;
	const struct plumb_userfunc_pattern *pattern;
	struct plumb_usersyms syms;
	struct stat st; /* of the file */
	struct mapping *mappings;
	size_t n;
	uint64_t offsets[IMPLEMENTATIONS];
	size_t n_offsets;
	bool is_mapped;
};

/* --- mappings --- */

static bool is_known(const struct search *s, const struct mapping *m)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->mappings[i].dev == m->dev && s->mappings[i].ino == m->ino)
			return true;
	return false;
}

static int add_mapping(void *context, struct plumb_vma *vma)
{
	struct mapping m = {.area = *vma};
	struct search *s = context;
	struct stat st;

	if (!vma->inode || plumb_map_stat(s->pid, vma, &st) || !S_ISREG(st.st_mode))
		return 0;
	m.dev = st.st_dev;
	m.ino = st.st_ino;
	m.is_first = !is_known(s, &m);
	m.area.path = plumb_copied(vma->path);
	*plumb_append(s->mappings, s->n) = m;
	return 0;
}

static bool is_of_file(const struct search *s, const struct mapping *m)
{
	return m->dev == s->st.st_dev && m->ino == s->st.st_ino;
}

/* --- addresses of implementations --- */

/* Whether the code at OFFSET only jumps to a function, perhaps one that is not yet looked up. */
static bool is_stub(Elf *elf, uint64_t offset)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &header) || offset < header.sh_offset ||
		    offset - header.sh_offset >= header.sh_size || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && (!strncmp(name, ".plt", 4) || !strncmp(name, ".iplt", 5)))
			return true;
	}
	return false;
}

static bool is_resolver(const struct search *s, uint64_t offset)
{
	for (size_t i = 0; i < s->syms.n; i++)
		if (s->syms.all[i].is_ifunc && s->syms.all[i].offset == offset)
			return true;
	return false;
}

/* Takes what the process has at ADDRESS, if it leads to code of the file. */
static void take_slot(struct search *s, uint64_t address)
{
	uint64_t value, offset;

	if (pread(s->memory, &value, sizeof(value), address) != sizeof(value))
		return;
	for (size_t i = 0; i < s->n; i++) {
		const struct mapping *m = &s->mappings[i];

		if (!m->area.is_code || !is_of_file(s, m) || value < m->area.start ||
		    value >= m->area.end)
			continue;
		offset = value - m->area.start + m->area.offset;
		if (is_stub(s->file->elf, offset) || is_resolver(s, offset))
			return;
		for (size_t j = 0; j < s->n_offsets; j++)
			if (s->offsets[j] == offset)
				return;
		if (s->n_offsets < IMPLEMENTATIONS)
			s->offsets[s->n_offsets++] = offset;
		return;
	}
}

/* Whether the file has the ifunc, with its resolver at ADDRESS; NULL: anywhere. */
static bool has_ifunc(const struct search *s, const uint64_t *address)
{
	for (size_t i = 0; i < s->syms.n; i++)
		if (s->syms.all[i].is_ifunc && (!address || s->syms.all[i].address == *address) &&
		    plumb_userfunc_matches(s->pattern, &s->syms.all[i]))
			return true;
	return false;
}

/* A mapped file with relocations. */
struct module {
	Elf *elf;
	uint64_t bias; /* from addresses in the file to those in the process */
	bool is_file;
};

/* Whether symbol I of the table has the name of the ifunc. */
static bool is_named(const struct search *s, Elf *elf, Elf_Scn *table, int i)
{
	GElf_Shdr header;
	GElf_Sym symbol;
	const char *name = NULL;

	if (table && gelf_getshdr(table, &header) &&
	    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB) &&
	    gelf_getsym(elf_getdata(table, NULL), i, &symbol))
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
	return name && !strcmp(name, s->pattern->name);
}

static void read_relocations(struct search *s, const struct module *m)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;
	GElf_Rela r;

	while ((section = elf_nextscn(m->elf, section))) {
		Elf_Scn *table;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC) || header.sh_size > 64 << 20)
			continue;
		data = elf_getdata(section, NULL);
		table = elf_getscn(m->elf, header.sh_link);
		for (int i = 0; data && gelf_getrela(data, i, &r); i++) {
			unsigned int type = GELF_R_TYPE(r.r_info);
			uint64_t resolver = r.r_addend;

			if (type == BY_INDIRECTION
				    ? m->is_file && has_ifunc(s, &resolver)
				    : (type == TO_FUNCTION || type == TO_SYMBOL ||
				       type == TO_ADDRESS) &&
					      is_named(s, m->elf, table, GELF_R_SYM(r.r_info)))
				take_slot(s, r.r_offset + m->bias);
		}
	}
}

/* Sets the bias, from a mapping. */
static bool find_bias(struct module *m, const struct mapping *mapping)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(m->elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(m->elf, i, &p); i++)
		if (p.p_type == PT_LOAD && (p.p_offset & -page) <= mapping->area.offset &&
		    mapping->area.offset < p.p_offset + p.p_filesz) {
			m->bias = mapping->area.start -
				  (mapping->area.offset - p.p_offset + p.p_vaddr);
			return true;
		}
	return false;
}

static void read_module(struct search *s, const struct mapping *mapping)
{
	struct module m = {.is_file = is_of_file(s, mapping)};
	int fd = plumb_map_open(s->pid, &mapping->area);
	struct stat st;

	if (fd < 0)
		return;
	if (!m.is_file && (fstat(fd, &st) || !plumb_owners_have(&s->owners, st.st_uid))) {
		close(fd);
		return;
	}
	m.elf = plumb_elf_begin(fd, ELF_C_READ);
	if (elf_kind(m.elf) == ELF_K_ELF && gelf_getclass(m.elf) == ELFCLASS64 &&
	    find_bias(&m, mapping))
		read_relocations(s, &m);
	elf_end(m.elf);
	close(fd);
}

/* --- all --- */

static int read_process(struct search *s)
{
	char path[64];
	int err = plumb_maps_of(s->pid, add_mapping, s);

	if (err)
		return plumb_error(-err, "cannot read /proc/%d/maps: %s", s->pid, strerror(-err));
	if (plumb_owners_of(s->pid, &s->owners))
		return plumb_error(ESRCH, "process %d has ended", s->pid);
	snprintf(path, sizeof(path), "/proc/%d/mem", s->pid);
	s->memory = open(path, O_RDONLY | O_CLOEXEC);
	if (s->memory < 0)
		return plumb_error(errno, "cannot read %s: %s", path, strerror(errno));
	for (size_t i = 0; i < s->n; i++) {
		s->is_mapped |= is_of_file(s, &s->mappings[i]);
		if (s->mappings[i].is_first)
			read_module(s, &s->mappings[i]);
	}
	close(s->memory);
	if (!s->is_mapped)
		return plumb_error(ESRCH, "process %d does not map %s", s->pid, s->file->path);
	if (!s->n_offsets)
		return plumb_error(ESRCH,
				   "%s in %s: process %d has not looked it up; name one of its "
				   "implementations",
				   s->pattern->name, s->file->path, s->pid);
	return 0;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The names of the symbols at an offset; NULL: none. */
static char *names_at(const struct plumb_usersyms *syms, uint64_t offset, uint64_t *size)
{
	char *text = NULL, *before;

	for (size_t i = 0; i < syms->n; i++) {
		const struct plumb_usersym *s = &syms->all[i];

		if (s->offset != offset)
			continue;
		*size = s->size > *size ? s->size : *size;
		if (text && memmem(text, strlen(text), s->name, s->length))
			continue;
		before = text;
		text = plumb_text("%s%s%.*s", before ?: "", before ? ", " : "", (int)s->length,
				  s->name);
		free(before);
	}
	return text;
}

static int resolve(struct search *s, bool returns, struct plumb_userfuncs *found)
{
	int err = fstat(s->file->fd, &s->st) ? -errno : 0;

	if (err)
		return err;
	plumb_usersyms_read(s->file, &s->syms);
	err = has_ifunc(s, NULL) ? read_process(s) : -ENODATA;
	if (err)
		return err;
	qsort(s->offsets, s->n_offsets, sizeof(*s->offsets), by_value);
	for (size_t i = 0; i < s->n_offsets; i++) {
		struct plumb_userfunc *u = plumb_append(found->list, found->n);

		*u = (struct plumb_userfunc){
			.offset = s->offsets[i],
			.name = plumb_copied(s->pattern->name),
		};
		u->aliases = names_at(&s->syms, u->offset, &u->size);
	}
	return plumb_userfuncs_inspect(s->file, &s->syms, 0, returns, found);
}

int plumb_ifunc_resolve(pid_t pid, int fd, const char *shown, const char *function, bool returns,
			struct plumb_userfuncs *found)
{
	struct plumb_userfunc_pattern pattern;
	struct plumb_elf file;
	struct search s = {
		.pid = pid,
		.file = &file,
		.pattern = &pattern,
		.syms = {.debug_fd = -1},
	};
	int err = plumb_elf_open_fd(fd, shown, &file);

	*found = (struct plumb_userfuncs){};
	plumb_userfunc_parse(function, &pattern);
	err = err ?: resolve(&s, returns, found);
	if (err) {
		plumb_userfuncs_free(found);
	} else {
		found->path = file.path;
		file.path = NULL;
	}
	plumb_usersyms_free(&s.syms);
	for (size_t i = 0; i < s.n; i++)
		free(s.mappings[i].area.path);
	free(s.mappings);
	plumb_elf_close(&file);
	free(pattern.name);
	return err;
}
