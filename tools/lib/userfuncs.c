/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <gelf.h>
#include <plumb/binary.h>
#include <plumb/log.h>
#include <plumb/near.h>
#include <plumb/userfuncs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Kernels probe 32-bit programs on x86_64, not on arm64. */
#if defined(__x86_64__)
#define MACHINE    EM_X86_64
#define MACHINE_32 EM_386
#else
#define MACHINE    EM_AARCH64
#define MACHINE_32 EM_AARCH64
#endif

void plumb_userfuncs_free(struct plumb_userfuncs *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->list[i].name);
	free(u->list);
	free(u->path);
	*u = (struct plumb_userfuncs){};
}

/* The offset in the file of code at ADDRESS. */
static bool offset_of(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t n = 0;
	GElf_Phdr p;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n && gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_LOAD && p.p_flags & PF_X && address >= p.p_vaddr &&
		    address - p.p_vaddr < p.p_filesz) {
			*offset = address - p.p_vaddr + p.p_offset;
			return true;
		}
	return false;
}

static int append(struct plumb_userfuncs *u, const char *name, uint64_t offset)
{
	struct plumb_userfunc *list = realloc(u->list, (u->n + 1) * sizeof(*list));
	char *copy = strdup(name);

	if (list)
		u->list = list;
	if (!list || !copy) {
		free(copy);
		return -ENOMEM;
	}
	u->list[u->n++] = (struct plumb_userfunc){.name = copy, .offset = offset};
	return 0;
}

/* Go's names have brackets in them: a name always matches itself. */
static bool matches(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

/* Adds what PATTERN matches in one symbol table. */
static int collect_from(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *pattern,
			struct plumb_userfuncs *found, bool *indirect)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Sym symbol;
	uint64_t offset;
	int err = 0;

	for (size_t i = 0; !err && i < n && gelf_getsym(data, i, &symbol); i++) {
		const char *versioned = elf_strptr(elf, header->sh_link, symbol.st_name);
		int type = GELF_ST_TYPE(symbol.st_info);
		char *name;

		if (!versioned || symbol.st_shndx == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC))
			continue;
		name = strndup(versioned, strcspn(versioned, "@"));
		if (name && matches(pattern, name)) {
			if (type == STT_GNU_IFUNC)
				*indirect = true;
			else if (offset_of(elf, symbol.st_value, &offset))
				err = append(found, name, offset);
		}
		free(name);
	}
	return err;
}

static int by_offset(const void *left, const void *right)
{
	const struct plumb_userfunc *a = left, *b = right;
	size_t n = strlen(a->name), m = strlen(b->name);

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return n != m ? (n < m ? -1 : 1) : strcmp(a->name, b->name);
}

/* What PATTERN matches, in order, each offset once. */
static int collect(Elf *elf, const char *pattern, struct plumb_userfuncs *found, bool *indirect)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t n = 0;
	int err = 0;

	while (!err && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			err = collect_from(elf, section, &header, pattern, found, indirect);
	if (found->n)
		qsort(found->list, found->n, sizeof(*found->list), by_offset);
	for (size_t i = 0; i < found->n; i++)
		if (n && found->list[n - 1].offset == found->list[i].offset)
			free(found->list[i].name);
		else
			found->list[n++] = found->list[i];
	found->n = n;
	return err;
}

/* Why nothing matches. */
static int complain(Elf *elf, const char *path, const char *name, bool indirect)
{
	struct plumb_userfuncs all = {};
	const char **names;
	char near[512];
	int err = collect(elf, "*", &all, &(bool){false});

	names = calloc(all.n + 1, sizeof(*names));
	for (size_t i = 0; names && i < all.n; i++)
		names[i] = all.list[i].name;
	if (err || !names)
		err = -ENOMEM;
	else if (indirect)
		err = plumb_error(ENOENT,
				  "%s in %s is chosen from several functions at run time (ifunc), "
				  "which have names of their own",
				  name, path);
	else if (all.n) {
		plumb_near(name, names, all.n, near, sizeof(near));
		err = plumb_error(ENOENT, "no function %s in %s%s%s", name, path, near,
				  *near ? "?" : "");
	} else
		err = plumb_error(ENOENT, "%s has no names of functions (stripped, or damaged)",
				  path);
	free(names);
	plumb_userfuncs_free(&all);
	return err;
}

/* Is it something that uprobes can be set in?  0, or -errno after saying why not. */
static int check(Elf *elf, const char *path)
{
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return plumb_error(ENOEXEC, "%s is not a program or library (ELF)", path);
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return plumb_error(ENOEXEC, "%s is ELF, but not a program or library", path);
	if (header.e_machine != MACHINE && header.e_machine != MACHINE_32)
		return plumb_error(ENOEXEC, "%s is for another machine", path);
	return 0;
}

static int find_in(const char *path, int fd, const char *name, struct plumb_userfuncs *found)
{
	bool indirect = false;
	Elf *elf;
	int err;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	err = check(elf, path) ?: collect(elf, name, found, &indirect);
	/* An old version of the name may be a function, but not the one that is called. */
	if (!err && (!found->n || (indirect && !strpbrk(name, "*?["))))
		err = complain(elf, path, name, indirect);
	elf_end(elf);
	return err;
}

int plumb_userfuncs_find(const char *target, struct plumb_userfuncs *found)
{
	char *file = strdup(target), *name = file ? strchr(file, ':') : NULL;
	struct stat st;
	int fd, err;

	*found = (struct plumb_userfuncs){};
	if (!name || name == file || !name[1]) {
		free(file);
		return plumb_error(EINVAL, "user function '%s': should be FILE:FUNCTION", target);
	}
	*name++ = 0;
	err = plumb_binary_find(file, &found->path);
	if (!err) {
		fd = open(found->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			err = plumb_error(errno, "cannot open %s: %s", found->path,
					  strerror(errno));
		else if (fstat(fd, &st) || !S_ISREG(st.st_mode))
			err = plumb_error(EINVAL, "%s is not a file", found->path);
		else
			err = find_in(found->path, fd, name, found);
		if (fd >= 0)
			close(fd);
	}
	if (err)
		plumb_userfuncs_free(found);
	free(file);
	return err;
}
