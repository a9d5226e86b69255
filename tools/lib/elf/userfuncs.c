/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/elf/elffile.h>

#include <errno.h>
#include <fnmatch.h>
#include <plumb/base/log.h>
#include <plumb/base/suggest.h>
#include <plumb/elf/userfuncs.h>
#include <stdlib.h>
#include <string.h>

void plumb_userfuncs_free(struct plumb_userfuncs *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->list[i].name);
	free(u->list);
	free(u->path);
	*u = (struct plumb_userfuncs){};
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

/* A name always matches itself, since Go's names contain brackets. */
static bool matches(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

/* Adds functions of one symbol table that match PATTERN; those of STT_GNU_IFUNC to INDIRECT. */
static int collect_from(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *pattern,
			struct plumb_userfuncs *found, struct plumb_userfuncs *indirect)
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
				err = append(indirect, name, 0);
			else if (plumb_elf_offset(elf, symbol.st_value, PF_X, &offset))
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

static int by_name(const void *left, const void *right)
{
	const struct plumb_userfunc *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* Finds functions that match PATTERN, sorted, each offset once.  *INDIRECT: some are ifuncs. */
static int collect(Elf *elf, const char *pattern, struct plumb_userfuncs *found, bool *indirect)
{
	struct plumb_userfuncs chosen = {};
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t n = 0;
	int err = 0;

	while (!err && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			err = collect_from(elf, section, &header, pattern, found, &chosen);
	if (found->n)
		qsort(found->list, found->n, sizeof(*found->list), by_offset);
	if (chosen.n)
		qsort(chosen.list, chosen.n, sizeof(*chosen.list), by_name);
	/* Other versions of an ifunc's name may be functions, but programs do not call them. */
	for (size_t i = 0; i < found->n; i++)
		if ((chosen.n && bsearch(&found->list[i], chosen.list, chosen.n,
					 sizeof(*chosen.list), by_name)) ||
		    (n && found->list[n - 1].offset == found->list[i].offset))
			free(found->list[i].name);
		else
			found->list[n++] = found->list[i];
	found->n = n;
	*indirect = chosen.n;
	plumb_userfuncs_free(&chosen);
	return err;
}

/* Prints why nothing matches. */
static int complain(Elf *elf, const char *path, const char *name, bool indirect)
{
	struct plumb_userfuncs all = {};
	const char **names;
	char suggestion[512];
	int err = collect(elf, "*", &all, &(bool){false});

	names = calloc(all.n + 1, sizeof(*names));
	for (size_t i = 0; names && i < all.n; i++)
		names[i] = all.list[i].name;
	if (err || !names)
		err = -ENOMEM;
	else if (indirect)
		err = plumb_error(ENOENT,
				  "%s in %s is an ifunc: at run time it becomes one of several "
				  "functions; name that one",
				  name, path);
	else if (all.n) {
		plumb_suggest(name, names, all.n, suggestion, sizeof(suggestion));
		err = plumb_error(ENOENT, "no function %s in %s%s%s", name, path, suggestion,
				  *suggestion ? "?" : "");
	} else
		err = plumb_error(ENOENT, "%s has no function names (stripped or damaged)", path);
	free(names);
	plumb_userfuncs_free(&all);
	return err;
}

static int find_in(const struct plumb_elf *file, const char *name, struct plumb_userfuncs *found)
{
	bool indirect = false;
	int err = collect(file->elf, name, found, &indirect);

	if (!err && !found->n)
		err = complain(file->elf, file->path, name, indirect);
	return err;
}

int plumb_userfuncs_find(const char *target, struct plumb_userfuncs *found)
{
	char *name = strdup(target), *function = name ? strchr(name, ':') : NULL;
	struct plumb_elf file;
	int err;

	*found = (struct plumb_userfuncs){};
	if (!function || function == name || !function[1]) {
		free(name);
		return plumb_error(EINVAL, "user function '%s': should be FILE:FUNCTION", target);
	}
	*function++ = 0;
	err = plumb_elf_open(name, &file) ?: find_in(&file, function, found);
	if (err) {
		plumb_userfuncs_free(found);
	} else {
		found->path = file.path;
		file.path = NULL;
	}
	plumb_elf_close(&file);
	free(name);
	return err;
}
