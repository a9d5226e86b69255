/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "userfuncs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of aliases that are listed. */
#define ALIASES 8

/* Forms of a name, the first that no other function has is used. */
enum form { PLAIN, WHOLE, SYMBOL, FORMS };

static char *name_as(const struct plumb_usersym *s, enum form form)
{
	char text[PLUMB_DEMANGLED], *name;

	if (form == SYMBOL)
		return strndup(s->name, s->length);
	plumb_userfunc_show(s, form == WHOLE, text, sizeof(text));
	/* Parameters distinguish functions of C++ and Rust, versions those of C. */
	if (form == PLAIN || !s->version || strncmp(text, s->name, strlen(text)))
		return strdup(text);
	return asprintf(&name, "%s@%s", text, s->version) < 0 ? NULL : name;
}

static bool is_named(const struct plumb_usersym *s, const char *name)
{
	return strlen(name) == s->length && !memcmp(name, s->name, s->length);
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
static int distinguish(struct plumb_userfuncs *found, const struct plumb_userfunc_match *matches,
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
			char *name = name_as(matches[entries[j].at].symbol, form);

			if (!name)
				return -ENOMEM;
			if (form == SYMBOL && strchr(found->list[entries[j].at].name, '@')) {
				free(name); /* its version is said already */
				continue;
			}
			free(found->list[entries[j].at].name);
			found->list[entries[j].at].name = name;
		}
	}
	return 0;
}

/* The other names of a function. */
static char *list_aliases(const struct plumb_usersyms *syms, const struct plumb_userfunc_match *m)
{
	const struct plumb_usersym *last = NULL, *all = syms->all + m->first;
	char *text = NULL;
	size_t size = 0, n = 0;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; f && i < m->n; last = &all[i++]) {
		bool is_known = last && last->length == all[i].length &&
				!memcmp(last->name, all[i].name, last->length);

		if (is_known || (m->symbol->length == all[i].length &&
				 !memcmp(m->symbol->name, all[i].name, all[i].length)))
			continue;
		if (n < ALIASES)
			fprintf(f, "%s%.*s", n ? ", " : "", (int)all[i].length, all[i].name);
		else if (n == ALIASES)
			fputs(", ...", f);
		n++;
	}
	if (f)
		fclose(f);
	if (n)
		return text;
	free(text);
	return NULL;
}

static int add_offset(struct plumb_userfunc *u, uint64_t offset)
{
	char *name;

	if (asprintf(&name, "%s+0x%" PRIx64, u->name, offset) < 0)
		return -ENOMEM;
	free(u->name);
	u->name = name;
	return 0;
}

int plumb_userfuncs_name(const struct plumb_usersyms *syms, const struct plumb_userfunc_pattern *p,
			 const struct plumb_userfunc_match *matches, struct plumb_userfuncs *found)
{
	struct entry *entries = calloc(found->n + 1, sizeof(*entries));
	int err = entries ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < found->n; i++) {
		const struct plumb_usersym *s = matches[i].symbol;

		found->list[i].name = name_as(s, is_named(s, p->name) ? SYMBOL : PLAIN);
		found->list[i].aliases = list_aliases(syms, &matches[i]);
		err = found->list[i].name ? 0 : -ENOMEM;
	}
	for (int form = WHOLE; !err && form < FORMS; form++)
		err = distinguish(found, matches, entries, form);
	for (size_t i = 0; !err && p->start && i < found->n; i++)
		err = add_offset(&found->list[i], p->start);
	free(entries);
	return err;
}
