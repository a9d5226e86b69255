/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "userfuncs.h"

#include <stdio.h>
#include <string.h>

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
		err = plumb_usersyms_read(&file, &syms);
	for (size_t i = 0; i < u->n && !err; i++)
		if (u->list[i].name)
			err = spell_at(&syms, u->list[i].offset, &to);
	plumb_usersyms_free(&syms);
	plumb_elf_close(&file);
	return err;
}
