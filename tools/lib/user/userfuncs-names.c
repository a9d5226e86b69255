/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "userfuncs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>

/* Maximum number of aliases that are listed. */
#define ALIASES 8

/* Forms of a name, the first that no other function has is used. */
enum form { PLAIN, WHOLE, SYMBOL, FORMS };

static char *name_as(const struct plumb_usersym *s, enum form form)
{
	char text[PLUMB_DEMANGLED];

	if (form == SYMBOL)
		return plumb_text("%.*s", (int)s->length, s->name);
	plumb_userfunc_show(s, form == WHOLE, text, sizeof(text));
	/* Parameters distinguish functions of C++ and Rust, versions those of C. */
	if (form == PLAIN || !s->version || strncmp(text, s->name, strlen(text)))
		return plumb_copied(text);
	return plumb_text("%s@%s", text, s->version);
}

static bool is_named(const struct plumb_usersym *s, const char *name)
{
	return strlen(name) == s->length && !memcmp(name, s->name, s->length);
}

static bool is_same(const struct plumb_usersym *a, const struct plumb_usersym *b)
{
	return a->length == b->length && !memcmp(a->name, b->name, a->length);
}

/* A name and its position in the list. */
struct entry {
	const char *name;
	size_t at;
};

static int by_name(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return strcmp(a->name, b->name);
}

/* Gives functions of the same name another FORM of it. */
static void distinguish(struct plumb_userfuncs *found, const struct plumb_userfunc_match *matches,
			struct entry *entries, enum form form)
{
	for (size_t i = 0; i < found->n; i++)
		entries[i] = (struct entry){found->list[i].name, i};
	qsort(entries, found->n, sizeof(*entries), by_name);
	for (size_t i = 0, next; i < found->n; i = next) {
		for (next = i + 1; next < found->n; next++)
			if (strcmp(entries[i].name, entries[next].name))
				break;
		for (size_t j = i; next - i > 1 && j < next; j++) {
			struct plumb_userfunc *u = &found->list[entries[j].at];

			if (form == SYMBOL && strchr(u->name, '@'))
				continue; /* its version is said already */
			free(u->name);
			u->name = name_as(matches[entries[j].at].symbol, form);
		}
	}
}

/* The other names of a function. */
static char *list_aliases(const struct plumb_usersyms *syms, const struct plumb_userfunc_match *m)
{
	const struct plumb_usersym *last = m->symbol, *one = syms->all + m->first;
	char *text = NULL;
	size_t size = 0, n = 0;
	FILE *f = plumb_required(open_memstream(&text, &size));

	for (size_t i = 0; i < m->n; i++, one++) {
		if (is_same(one, m->symbol) || is_same(one, last))
			continue;
		last = one;
		if (n < ALIASES)
			fprintf(f, "%s%.*s", n ? ", " : "", (int)one->length, one->name);
		else if (n == ALIASES)
			fputs(", ...", f);
		n++;
	}
	fclose(f);
	if (n)
		return text;
	free(text);
	return NULL;
}

void plumb_userfuncs_name(const struct plumb_usersyms *syms, const struct plumb_userfunc_pattern *p,
			  const struct plumb_userfunc_match *matches, struct plumb_userfuncs *found)
{
	struct entry *entries = plumb_zeroed(found->n, sizeof(*entries));
	char *plain;

	for (size_t i = 0; i < found->n; i++) {
		const struct plumb_usersym *s = matches[i].symbol;

		found->list[i].name = name_as(s, is_named(s, p->name) ? SYMBOL : PLAIN);
		found->list[i].aliases = list_aliases(syms, &matches[i]);
	}
	for (int form = WHOLE; form < FORMS; form++)
		distinguish(found, matches, entries, form);
	for (size_t i = 0; p->start && i < found->n; i++) {
		plain = found->list[i].name;
		found->list[i].name = plumb_text("%s+0x%" PRIx64, plain, p->start);
		free(plain);
	}
	free(entries);
}

/* --- all names of what is at a place --- */

struct spelling {
	int (*each)(const char *name, void *context);
	void *context;
};

static int spell(const struct plumb_usersym *s, const struct spelling *to)
{
	char text[PLUMB_DEMANGLED];
	int err;

	snprintf(text, sizeof(text), "%.*s", (int)s->length, s->name);
	err = to->each(text, to->context);
	for (const char *at = "@@"; !err && s->version && *at; at++) {
		snprintf(text, sizeof(text), "%.*s%s%s", (int)s->length, s->name, at, s->version);
		err = to->each(text, to->context);
	}
	for (int full = 0; full < 2 && !err; full++) {
		plumb_userfunc_show(s, full, text, sizeof(text));
		err = to->each(text, to->context);
	}
	return err;
}

/* Where the symbol ends; one of unknown size at the next one. */
static uint64_t end_of(const struct plumb_usersyms *syms, size_t i)
{
	const struct plumb_usersym *s = &syms->all[i];
	size_t next = i;

	if (s->size)
		return s->offset + s->size;
	while (next < syms->n && syms->all[next].offset == s->offset)
		next++;
	return next < syms->n ? syms->all[next].offset : UINT64_MAX;
}

/* All symbols, since none is known to be the longest. */
static int spell_at(const struct plumb_usersyms *syms, uint64_t offset, const struct spelling *to)
{
	int err = 0;

	for (size_t i = 0; i < syms->n && syms->all[i].offset <= offset && !err; i++)
		if (offset < end_of(syms, i))
			err = spell(&syms->all[i], to);
	return err;
}

int plumb_userfuncs_spell(const struct plumb_userfuncs *u,
			  int (*each)(const char *name, void *context), void *context)
{
	const struct spelling to = {each, context};
	struct plumb_usersyms syms = {.debug_fd = -1};
	struct plumb_elf file;
	int err = plumb_elf_open(u->path, &file);

	if (!err)
		plumb_usersyms_read(&file, &syms);
	for (size_t i = 0; i < u->n && !err; i++)
		if (u->list[i].name)
			err = spell_at(&syms, u->list[i].offset, &to);
	plumb_usersyms_free(&syms);
	plumb_elf_close(&file);
	return err;
}
