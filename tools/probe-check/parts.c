/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parts: the symbols that a compiler made of one function of a program or library. */
#include <plumb/elf/userfuncs.h>
#include <plumb/elf/elffile.h>
#include <errno.h>
#include "inlining.h"
#include <plumb/base/log.h>
#include <stdlib.h>
#include <string.h>

/* NAME itself, NAME.part.0 and its like, also with a version: NAME@VERSION. */
static bool is_part(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(symbol, name, n) && (!symbol[n] || symbol[n] == '.' || symbol[n] == '@');
}

static int append(struct plumb_function_parts *parts, const char *name, const GElf_Sym *symbol,
		  uint64_t offset)
{
	struct plumb_part *more = realloc(parts->all, (parts->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	parts->all = more;
	more += parts->n;
	*more = (struct plumb_part){strndup(name, strcspn(name, "@")), symbol->st_value,
				    symbol->st_size, offset};
	parts->n += !!more->name;
	return more->name ? 0 : -ENOMEM;
}

static int look_at_table(struct plumb_function_parts *parts, Elf *elf, Elf_Scn *section,
			 const GElf_Shdr *header, const char *name)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	const char *found;
	uint64_t offset;
	int err = 0;

	for (int i = 0; !err && data && gelf_getsym(data, i, &symbol); i++) {
		found = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (found && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
		    symbol.st_shndx != SHN_UNDEF && is_part(found, name) &&
		    plumb_elf_offset(elf, symbol.st_value, PF_X, &offset))
			err = append(parts, found, &symbol, offset);
	}
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct plumb_part *p = a, *q = b;

	return (p->address > q->address) - (p->address < q->address) ?: strcmp(p->name, q->name);
}

/* Sort, and remove duplicates: a symbol may be in both .symtab and .dynsym. */
static void sort(struct plumb_function_parts *parts)
{
	size_t n = 0;

	if (parts->n)
		qsort(parts->all, parts->n, sizeof(*parts->all), compare);
	for (size_t i = 0; i < parts->n; i++)
		if (n && !compare(&parts->all[n - 1], &parts->all[i]))
			free(parts->all[i].name);
		else
			parts->all[n++] = parts->all[i];
	parts->n = n;
}

int plumb_parts_find(const char *path, const char *name, struct plumb_function_parts *parts)
{
	Elf_Scn *section = NULL;
	struct plumb_elf file;
	GElf_Shdr header;
	int err = plumb_elf_open(path, &file), no_memory = 0;

	*parts = (struct plumb_function_parts){};
	while (!err && !no_memory && (section = elf_nextscn(file.elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			no_memory = look_at_table(parts, file.elf, section, &header, name);
	plumb_elf_close(&file);
	if (no_memory) {
		plumb_parts_free(parts);
		return plumb_error(no_memory, "no memory for the symbols of %s", path);
	}
	sort(parts);
	return err;
}

void plumb_parts_free(struct plumb_function_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		free(parts->all[i].name);
	free(parts->all);
	*parts = (struct plumb_function_parts){};
}

static int keep_mangled(const char *name, void *context)
{
	char **mangled = context;

	if ((strncmp(name, "_Z", 2) && strncmp(name, "_R", 2)) || strchr(name, '@'))
		return 0;
	*mangled = strdup(name);
	return 1;
}

char *plumb_parts_mangled(const struct plumb_userfuncs *function)
{
	char *mangled = NULL;

	plumb_userfuncs_spell(function, keep_mangled, &mangled);
	return mangled;
}
