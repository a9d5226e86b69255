/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* parts: the symbols that a compiler made of one function of a program or library. */
#include <errno.h>
#include <plumb/symbols/debugfile.h>
#include <plumb/symbols/elffile.h>
#include <plumb/user/userfuncs.h>
#include "inlining/inlining.h"
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>

/* NAME itself, NAME.part.0 and its like, also with a version: NAME@VERSION. */
static bool is_part(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(symbol, name, n) && (!symbol[n] || symbol[n] == '.' || symbol[n] == '@');
}

static int append(struct plumb_function_parts *parts, const char *name, const GElf_Sym *symbol)
{
	struct plumb_part *more = realloc(parts->all, (parts->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	parts->all = more;
	more += parts->n;
	*more = (struct plumb_part){strndup(name, strcspn(name, "@")), symbol->st_value,
				    symbol->st_size};
	parts->n += !!more->name;
	return more->name ? 0 : -ENOMEM;
}

/* Take the symbols of TABLES, which are those of ELF, or of a file that only has its symbols. */
static int look_at_tables(struct plumb_function_parts *parts, Elf *elf, Elf *tables,
			  const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	uint64_t offset;
	GElf_Sym symbol;
	Elf_Data *data;
	int err = 0;

	while ((section = elf_nextscn(tables, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; !err && data && gelf_getsym(data, i, &symbol); i++) {
			const char *found = elf_strptr(tables, header.sh_link, symbol.st_name);

			if (found && GELF_ST_TYPE(symbol.st_info) == STT_FUNC &&
			    symbol.st_shndx != SHN_UNDEF && is_part(found, name) &&
			    plumb_elf_offset(elf, symbol.st_value, PF_X, &offset))
				err = append(parts, found, &symbol);
		}
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

/* The same of the symbols in .gnu_debugdata. */
static int look_at_mini(struct plumb_function_parts *parts, Elf *elf, const char *name)
{
	bool damaged;
	size_t size;
	char *image = plumb_debug_mini(elf, &size, &damaged);
	Elf *mini = image ? elf_memory(image, size) : NULL;
	int err = mini ? look_at_tables(parts, elf, mini, name) : 0;

	elf_end(mini);
	free(image);
	return err;
}

int plumb_parts_find(const char *path, const char *name, struct plumb_function_parts *parts)
{
	struct plumb_elf file;
	int err = plumb_elf_open(path, &file), no_memory = 0;

	*parts = (struct plumb_function_parts){};
	if (!err)
		no_memory = look_at_tables(parts, file.elf, file.elf, name)
				    ?: look_at_mini(parts, file.elf, name);
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
