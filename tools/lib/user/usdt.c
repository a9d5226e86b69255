/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/symbols/elffile.h>

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/terminal/suggest.h>
#include <plumb/user/usdt.h>

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"

/* A parsed note; its strings are in the file's data. */
struct note {
	uint64_t address, base, semaphore;
	const char *provider, *name, *arguments;
};

struct reading {
	Elf *elf;
	const char *provider, *name; /* globs */
	uint64_t base; /* address of section .stapsdt.base, which notes also have; 0: none */
	struct plumb_usdts *found;
};

/* --- a note --- */

/* Cuts a string off the rest of a note; NULL if it is not terminated. */
static const char *cut_text(const char **rest, size_t *left)
{
	const char *text = *rest, *end = memchr(text, 0, *left);

	if (!end)
		return NULL;
	*left -= end + 1 - text;
	*rest = end + 1;
	return text;
}

/* Reads three addresses, which have the size and byte order of the file. */
static bool read_addresses(Elf *elf, const void *content, size_t size, struct note *note)
{
	union {
		Elf64_Addr wide[3];
		Elf32_Addr narrow[3];
	} addresses;
	Elf_Data from = {
		.d_buf = (void *)content,
		.d_type = ELF_T_ADDR,
		.d_version = EV_CURRENT,
		.d_size = size,
	};
	Elf_Data to = {
		.d_buf = &addresses,
		.d_version = EV_CURRENT,
		.d_size = sizeof(addresses),
	};
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header) || !gelf_xlatetom(elf, &to, &from, header.e_ident[EI_DATA]))
		return false;
	if (size == sizeof(addresses.narrow)) {
		note->address = addresses.narrow[0];
		note->base = addresses.narrow[1];
		note->semaphore = addresses.narrow[2];
	} else {
		note->address = addresses.wide[0];
		note->base = addresses.wide[1];
		note->semaphore = addresses.wide[2];
	}
	return true;
}

static bool read_note(Elf *elf, const char *content, size_t size, struct note *note)
{
	size_t addresses = gelf_fsize(elf, ELF_T_ADDR, 3, EV_CURRENT);

	if (!addresses || size < addresses || !read_addresses(elf, content, addresses, note))
		return false;
	content += addresses;
	size -= addresses;
	note->provider = cut_text(&content, &size);
	note->name = note->provider ? cut_text(&content, &size) : NULL;
	note->arguments = note->name ? cut_text(&content, &size) : NULL;
	return note->arguments;
}

/* --- probes, from notes --- */

static void free_probe(struct plumb_usdt *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->places[i].arguments);
	free(u->places);
	free(u->provider);
	free(u->name);
}

void plumb_usdts_free(struct plumb_usdts *found)
{
	for (size_t i = 0; i < found->n; i++)
		free_probe(&found->list[i]);
	free(found->list);
	free(found->path);
	*found = (struct plumb_usdts){};
}

static bool matches(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

/* Adds a probe with one place.  Probes of the same name are merged after the last note. */
static int append(struct plumb_usdts *found, const struct note *note, struct plumb_usdt_place place)
{
	struct plumb_usdt *u = realloc(found->list, (found->n + 1) * sizeof(*u));

	if (!u)
		return -ENOMEM;
	found->list = u;
	u += found->n++;
	*u = (struct plumb_usdt){
		.provider = strdup(note->provider),
		.name = strdup(note->name),
		.places = malloc(sizeof(*u->places)),
	};
	if (!u->places)
		return -ENOMEM;
	place.arguments = strdup(note->arguments);
	u->places[u->n++] = place;
	return u->provider && u->name && place.arguments ? 0 : -ENOMEM;
}

/* Adds the note's probe if its name matches and its address is in a loaded segment. */
static int take(const struct reading *r, struct note *note)
{
	/* Prelink moves a library's sections, but does not adjust the notes. */
	uint64_t moved = r->base ? r->base - note->base : 0;
	struct plumb_usdt_place place = {};

	if (!matches(r->provider, note->provider) || !matches(r->name, note->name))
		return 0;
	if (!plumb_elf_offset(r->elf, note->address + moved, PF_X, &place.offset))
		return 0;
	if (note->semaphore &&
	    !plumb_elf_offset(r->elf, note->semaphore + moved, PF_W, &place.semaphore))
		return 0;
	return append(r->found, note, place);
}

static int take_all(const struct reading *r, Elf_Data *data)
{
	size_t at = 0, next, name, content;
	GElf_Nhdr header;
	struct note note;
	int err = 0;

	for (; !err && (next = gelf_getnote(data, at, &header, &name, &content)); at = next) {
		const char *bytes = data->d_buf;

		if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp(bytes + name, NOTE_NAME, sizeof(NOTE_NAME)) &&
		    content <= data->d_size && header.n_descsz <= data->d_size - content &&
		    read_note(r->elf, bytes + content, header.n_descsz, &note))
			err = take(r, &note);
	}
	return err;
}

static int by_name(const void *left, const void *right)
{
	const struct plumb_usdt *a = left, *b = right;
	int order = strcmp(a->provider, b->provider) ?: strcmp(a->name, b->name);

	if (order)
		return order;
	return (a->places[0].offset > b->places[0].offset) -
	       (a->places[0].offset < b->places[0].offset);
}

/* Moves the place of NEXT, which has the same name, to U. */
static int merge(struct plumb_usdt *u, struct plumb_usdt *next)
{
	struct plumb_usdt_place *places = realloc(u->places, (u->n + 1) * sizeof(*places));

	if (!places)
		return -ENOMEM;
	u->places = places;
	u->places[u->n++] = next->places[0];
	next->n = 0;
	free_probe(next);
	return 0;
}

static int merge_all(struct plumb_usdts *found)
{
	size_t n = 0;
	int err = 0;

	if (found->n)
		qsort(found->list, found->n, sizeof(*found->list), by_name);
	for (size_t i = 0; i < found->n; i++) {
		struct plumb_usdt *u = &found->list[i], *last = n ? &found->list[n - 1] : NULL;

		if (!err && last && !strcmp(last->provider, u->provider) &&
		    !strcmp(last->name, u->name))
			err = merge(last, u);
		else
			found->list[n++] = *u;
	}
	found->n = n;
	return err;
}

/* Finds sections by name: no program header refers to the notes. */
static int collect(Elf *elf, const char *provider, const char *name, struct plumb_usdts *found)
{
	struct reading r = {.elf = elf, .provider = provider, .name = name, .found = found};
	Elf_Scn *section = NULL, *notes = NULL;
	size_t names = 0;
	GElf_Shdr header;
	const char *is;
	Elf_Data *data = NULL;
	int err = 0;

	elf_getshdrstrndx(elf, &names);
	while ((section = elf_nextscn(elf, section))) {
		is = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		if (is && !strcmp(is, ".stapsdt.base"))
			r.base = header.sh_addr;
		else if (is && !strcmp(is, ".note.stapsdt") && header.sh_type == SHT_NOTE)
			notes = section;
	}
	while (!err && notes && (data = elf_getdata(notes, data)))
		err = take_all(&r, data);
	return err ?: merge_all(found);
}

/* --- a target --- */

/*
 * Suggests similar names of the provider, or PROVIDER:NAMEs if it is not known either; "": there is
 * none.
 */
static void suggest(const struct plumb_usdts *all, const char *provider, const char *name,
		    char *text, size_t size)
{
	const char **names = calloc(all->n + 1, sizeof(*names));
	char **pairs = calloc(all->n + 1, sizeof(*pairs)), *wanted = NULL;
	size_t n = 0, n_pairs = 0;

	*text = 0;
	for (size_t i = 0; names && pairs && i < all->n; i++) {
		const struct plumb_usdt *u = &all->list[i];

		if (matches(provider, u->provider))
			names[n++] = u->name;
		else if (asprintf(&pairs[n_pairs], "%s:%s", u->provider, u->name) >= 0)
			n_pairs++;
	}
	if (n)
		plumb_suggest(name, names, n, text, size);
	else if (asprintf(&wanted, "%s:%s", provider, name) >= 0)
		plumb_suggest(wanted, (const char *const *)pairs, n_pairs, text, size);
	while (n_pairs)
		free(pairs[--n_pairs]);
	free(names);
	free(pairs);
	free(wanted);
}

/* Prints why nothing matches. */
static int complain(const struct plumb_elf *file, const char *provider, const char *name)
{
	struct plumb_usdts all = {};
	char suggestion[512] = "";
	size_t sections = 0;
	int err = collect(file->elf, "*", "*", &all);

	if (!err && !all.n && (elf_getshdrnum(file->elf, &sections) || !sections))
		err = plumb_error(ENOENT,
				  "%s has no USDT probes, or is damaged: it has no sections",
				  file->path);
	else if (!err && !all.n)
		err = plumb_error(ENOENT, "%s has no USDT probes", file->path);
	if (!err) {
		suggest(&all, provider, name, suggestion, sizeof(suggestion));
		err = plumb_error(ENOENT, "no USDT probe %s:%s in %s%s%s", provider, name,
				  file->path, suggestion, *suggestion ? "?" : "");
	}
	plumb_usdts_free(&all);
	return err;
}

static int find_in(struct plumb_elf *file, const char *provider, const char *name,
		   struct plumb_usdts *found)
{
	int err = collect(file->elf, provider, name, found);

	if (!err && !found->n)
		err = complain(file, provider, name);
	if (err) {
		plumb_usdts_free(found);
		return err;
	}
	found->path = file->path;
	file->path = NULL;
	return 0;
}

int plumb_usdts_find_in(int fd, const char *shown, const char *probe, struct plumb_usdts *found)
{
	char *provider = strdup(probe), *name = provider ? strchr(provider, ':') : NULL;
	struct plumb_elf file = {.fd = -1};
	int err = -ENOMEM;

	*found = (struct plumb_usdts){};
	if (name) {
		*name++ = 0;
		err = plumb_elf_open_fd(fd, shown, &file) ?: find_in(&file, provider, name, found);
	}
	plumb_elf_close(&file);
	free(provider);
	return err;
}

int plumb_usdts_find(const char *target, struct plumb_usdts *found)
{
	char *copy = strdup(target), *rest = copy, *path = NULL, *provider = NULL;
	struct plumb_elf file = {.fd = -1};
	int err;

	*found = (struct plumb_usdts){};
	path = strsep(&rest, ":");
	provider = strsep(&rest, ":");
	if (!path || !*path || !provider || !*provider || !rest || !*rest)
		err = plumb_error(EINVAL, "USDT probe '%s': should be FILE:PROVIDER:NAME", target);
	else
		err = plumb_elf_open(path, &file) ?: find_in(&file, provider, rest, found);
	plumb_elf_close(&file);
	free(copy);
	return err;
}
