/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/user/usdt.h>

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/elffile.h>
#include <plumb/terminal/suggest.h>

#define NOTE_TYPE 3
#define NOTE_NAME "stapsdt"

/* A parsed note; its strings are in the file's data. */
struct note {
	uint64_t address, base, semaphore;
	const char *provider, *name, *arguments;
};

struct reading {
	Elf *elf;
	int machine;         /* of the file: EM_X86_64, ... */
	const char *pattern; /* PROVIDER:NAME, a glob */
	uint64_t base;       /* address of section .stapsdt.base, which notes also have; 0: none */
	struct plumb_userfuncs *found;
};

/* --- a note --- */

/* Three addresses and three texts.  No file of the other byte order is opened (elffile.h). */
static bool read_note(Elf *elf, const char *content, size_t size, struct note *note)
{
	const size_t width = gelf_getclass(elf) == ELFCLASS32 ? 4 : 8;
	uint64_t *const addresses[] = {&note->address, &note->base, &note->semaphore};
	const char **const texts[] = {&note->provider, &note->name, &note->arguments}, *end;

	*note = (struct note){};
	for (size_t i = 0; i < 3; i++) {
		if (size < width)
			return false;
		memcpy(addresses[i], content, width);
		content += width;
		size -= width;
	}
	for (size_t i = 0; i < 3; i++) {
		end = memchr(content, 0, size);
		if (!end)
			return false;
		*texts[i] = content;
		size -= end + 1 - content;
		content = end + 1;
	}
	return true;
}

/* --- probes, from notes --- */

static bool matches(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

/* Adds the note's probe if its name matches and its address is in a loaded segment. */
static void take(const struct reading *r, const struct note *note)
{
	/* Prelink moves a library's sections, but does not adjust the notes. */
	const uint64_t moved = r->base ? r->base - note->base : 0;
	char *name = plumb_text("%s:%s", note->provider, note->name);
	struct plumb_usdt_place place = {};
	struct plumb_userfunc *u;

	if (!matches(r->pattern, name) ||
	    !plumb_elf_offset(r->elf, note->address + moved, PF_X, &place.offset) ||
	    (note->semaphore &&
	     !plumb_elf_offset(r->elf, note->semaphore + moved, PF_W, &place.semaphore))) {
		free(name);
		return;
	}
	place.arguments = plumb_copied(note->arguments);
	place.machine = r->machine;
	u = plumb_append(r->found->list, r->found->n);
	*u = (struct plumb_userfunc){.name = name, .offset = place.offset};
	*plumb_append(u->places, u->n_places) = place;
}

static void take_all(const struct reading *r, Elf_Data *data)
{
	size_t at = 0, next, name, content;
	GElf_Nhdr header;
	struct note note;

	for (; (next = gelf_getnote(data, at, &header, &name, &content)); at = next) {
		const char *bytes = data->d_buf;

		if (header.n_type == NOTE_TYPE && header.n_namesz == sizeof(NOTE_NAME) &&
		    !memcmp(bytes + name, NOTE_NAME, sizeof(NOTE_NAME)) &&
		    content <= data->d_size && header.n_descsz <= data->d_size - content &&
		    read_note(r->elf, bytes + content, header.n_descsz, &note))
			take(r, &note);
	}
}

static int by_name(const void *left, const void *right)
{
	const struct plumb_userfunc *a = left, *b = right;

	return strcmp(a->name, b->name) ?: (a->offset > b->offset) - (a->offset < b->offset);
}

/* Makes probes of the same name one, with all their places. */
static void merge(struct plumb_userfuncs *found)
{
	size_t n = 0;

	if (found->n)
		qsort(found->list, found->n, sizeof(*found->list), by_name);
	for (size_t i = 0; i < found->n; i++) {
		struct plumb_userfunc *u = &found->list[i], *last = n ? &found->list[n - 1] : NULL;

		if (!last || strcmp(last->name, u->name)) {
			found->list[n++] = *u;
			continue;
		}
		*plumb_append(last->places, last->n_places) = u->places[--u->n_places];
		plumb_userfunc_free(u);
	}
	found->n = n;
}

/* Finds sections by name: no program header refers to the notes. */
static void collect(Elf *elf, const char *pattern, struct plumb_userfuncs *found)
{
	struct reading r = {.elf = elf, .pattern = pattern, .found = found};
	Elf_Data *data = NULL;
	GElf_Shdr header;
	GElf_Ehdr file;
	Elf_Scn *notes;

	*found = (struct plumb_userfuncs){.is_usdt = true};
	r.machine = gelf_getehdr(elf, &file) ? file.e_machine : EM_NONE;
	if (plumb_elf_section(elf, ".stapsdt.base", &header))
		r.base = header.sh_addr;
	notes = plumb_elf_section(elf, ".note.stapsdt", &header);
	while (notes && header.sh_type == SHT_NOTE && (data = elf_getdata(notes, data)))
		take_all(&r, data);
	merge(found);
}

/* --- a target --- */

/* Suggests similar names of the provider, or PROVIDER:NAMEs if it is not known either. */
static void suggest(const struct plumb_userfuncs *all, const char *pattern, char *text, size_t size)
{
	const char **names = plumb_zeroed(all->n, sizeof(*names)), *name = strchr(pattern, ':') + 1;
	char *provider = plumb_text("%.*s*", (int)(name - pattern), pattern);
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (matches(provider, all->list[i].name))
			names[n++] = strchr(all->list[i].name, ':') + 1;
	for (size_t i = 0; !n && i < all->n; i++)
		names[i] = all->list[i].name;
	plumb_suggest(n ? name : pattern, names, n ?: all->n, text, size);
	free(provider);
	free(names);
}

/* Prints why nothing matches. */
static int complain(const struct plumb_elf *file, const char *pattern)
{
	struct plumb_userfuncs all;
	char suggestion[512];
	size_t sections = 0;
	int err;

	collect(file->elf, "*", &all);
	suggest(&all, pattern, suggestion, sizeof(suggestion));
	if (all.n)
		err = plumb_error(ENOENT, "no USDT probe %s in %s%s%s", pattern, file->path,
				  suggestion, *suggestion ? "?" : "");
	else
		err = plumb_error(ENOENT, "%s has no USDT probes%s", file->path,
				  elf_getshdrnum(file->elf, &sections) || !sections
					  ? ", or is damaged: it has no sections"
					  : "");
	plumb_userfuncs_free(&all);
	return err;
}

/* Finds the probes of FILE, which it closes; ERR: it could not be opened. */
static int find_and_close(struct plumb_elf *file, int err, const char *pattern,
			  struct plumb_userfuncs *found)
{
	*found = (struct plumb_userfuncs){};
	if (!err)
		collect(file->elf, pattern, found);
	if (!err && !found->n)
		err = complain(file, pattern);
	if (!err) {
		found->path = file->path;
		file->path = NULL;
	}
	plumb_elf_close(file);
	return err;
}

int plumb_usdts_find_in(int fd, const char *shown, const char *probe, struct plumb_userfuncs *found)
{
	struct plumb_elf file;
	int err = plumb_elf_open_fd(fd, shown, &file);

	return find_and_close(&file, err, probe, found);
}

int plumb_usdts_find(const char *target, struct plumb_userfuncs *found)
{
	char *path = plumb_copied(target), *probe = strchrnul(path, ':'), *name;
	struct plumb_elf file;
	int err;

	*found = (struct plumb_userfuncs){};
	name = *probe ? strchr(probe + 1, ':') : NULL;
	if (!name || probe == path || name == probe + 1 || !name[1]) {
		free(path);
		return plumb_error(EINVAL, "USDT probe '%s': should be FILE:PROVIDER:NAME", target);
	}
	*probe++ = 0;
	err = plumb_elf_open(path, &file);
	err = find_and_close(&file, err, probe, found);
	free(path);
	return err;
}
