/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "words.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/core/text.h>
#include <plumb/symbols/maps.h>
#include <plumb/symbols/owners.h>

#include "variables.h"

struct named {
	struct futex_word_key word;
	char *name;
	const struct named *first; /* of that name */
};

/* The area of an address, and the last one of a file before it, or itself; their paths are copies.
 */
struct place {
	uint64_t address;
	struct plumb_vma area, file;
};

static void keep(struct plumb_vma *kept, const struct plumb_vma *vma)
{
	free(kept->path);
	*kept = *vma;
	kept->path = plumb_copied(vma->path);
}

static int look_at(void *context, struct plumb_vma *vma)
{
	struct place *p = context;

	if (vma->inode)
		keep(&p->file, vma);
	if (p->address < vma->start || p->address >= vma->end)
		return 0;
	keep(&p->area, vma);
	return 1;
}

static const struct variables *read_file(uint32_t pid, const struct plumb_vma *vma)
{
	const int fd = plumb_map_open(pid, vma);
	const struct variables *v = NULL;
	char why[128];
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && plumb_owner_is_known(pid, st.st_uid, why, sizeof(why)))
		v = variables_of(fd, vma);
	if (fd >= 0)
		close(fd);
	return v;
}

/*
 * The name of a word in a file's area, or in the memory behind it for variables that are zero in
 * the beginning, which are not in the file; NULL: it is in neither.
 */
static char *name_in_file(uint32_t pid, uint64_t address, const struct plumb_vma *area,
			  const struct plumb_vma *file)
{
	const struct variables *v = file->inode ? read_file(pid, file) : NULL;
	const char *base = strrchr(file->path ?: "", '/'), *variable;
	char text[PLUMB_ESCAPED], symbol[256];
	uint64_t at = 0, offset;

	if (v && variables_address(v, file->offset, &at))
		at += address - file->start;
	if (!area->inode && (!at || !variables_have(v, at)))
		return NULL;
	plumb_escape(text, base ? base + 1 : file->path, sizeof(text));
	variable = at ? variables_find(v, at, &offset) : NULL;
	if (!variable)
		return plumb_text("%s+%#" PRIx64, text, at ?: address - area->start + area->offset);
	plumb_escape(symbol, variable, sizeof(symbol));
	return offset ? plumb_text("%s:%s+%#" PRIx64, text, symbol, offset)
		      : plumb_text("%s:%s", text, symbol);
}

static char *find_name(const struct futex_word_key *word, uint32_t pid)
{
	struct place p = {.address = word->address};
	char text[PLUMB_ESCAPED], *name = NULL;

	*text = 0;
	if (plumb_maps_of(pid, look_at, &p) == 1) {
		plumb_escape(text, *p.area.path ? p.area.path : "[anon]", sizeof(text));
		name = name_in_file(pid, p.address, &p.area, &p.file);
	}
	free(p.area.path);
	free(p.file.path);
	return name ?: plumb_text("%s%#" PRIx64, text, p.address);
}

static int by_word(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct futex_word_key));
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static const struct named *named(const struct futex_word_key *word, uint32_t pid)
{
	static void *all, *names;
	struct named **found = tfind(word, &all, by_word), *one;

	if (found || !pid)
		return found ? *found : NULL;
	one = plumb_zeroed(1, sizeof(*one));
	one->word = *word;
	one->name = find_name(word, pid);
	plumb_required(tsearch(one, &all, by_word));
	one->first = *(struct named **)plumb_required(tsearch(one, &names, by_name));
	return one;
}

const char *words_name(const struct futex_word_key *word, uint32_t pid, char *text, size_t size)
{
	const struct named *one = named(word, pid);

	if (one)
		snprintf(text, size, "%s", one->name);
	else
		snprintf(text, size, "%#" PRIx64, (uint64_t)word->address);
	return text;
}

const struct futex_word_key *words_first(const struct futex_word_key *word)
{
	const struct named *one = named(word, 0);

	return one ? &one->first->word : word;
}

static int see(void *context, const void *record, size_t size)
{
	const struct futex_seen *seen = record;

	(void)context;
	if (size >= sizeof(*seen))
		named(&seen->word, seen->pid);
	return 0;
}

static int idle(void *context, bool all, uint64_t *again)
{
	(void)context, (void)all, (void)again;
	return 0;
}

const struct plumb_ring_handlers words_seen = {NULL, see, idle};
