/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "userfuncs.h"

#include <errno.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/terminal/suggest.h>

/* Maximum number of names in a message. */
#define LISTED 6

/* Names in a message: "a, b, ...", each once. */
struct names {
	char text[512];
	size_t n;
};

static void add(struct names *names, const char *name, size_t length)
{
	size_t at = strlen(names->text);
	const char *known = names->text;

	while ((known = memmem(known, names->text + at - known, name, length))) {
		if ((known == names->text || known[-1] == ' ') &&
		    (known[length] == ',' || !known[length]))
			return;
		known++;
	}
	if (names->n < LISTED)
		snprintf(names->text + at, sizeof(names->text) - at, "%s%.*s", at ? ", " : "",
			 length < 100 ? (int)length : 100, name);
	else if (names->n == LISTED)
		snprintf(names->text + at, sizeof(names->text) - at, ", ...");
	names->n++;
}

/* Whether the symbol has the pattern's name, in whatever version. */
static bool is_named(const struct plumb_userfunc_pattern *p, const struct plumb_usersym *s)
{
	return !s->is_ifunc &&
	       plumb_userfunc_matches(&(struct plumb_userfunc_pattern){.name = p->name}, s);
}

/* Whether the function may be an implementation of the ifunc NAME, as __memcpy_avx of memcpy. */
static bool is_implementation_of(const struct plumb_usersym *s, const char *name)
{
	size_t n = strlen(name), skip = strspn(s->name, "_");

	return !s->is_ifunc && s->length > skip + n && !strncmp(s->name + skip, name, n) &&
	       s->name[skip + n] == '_' && strncmp(s->name + skip + n, "_chk", 4);
}

/* Whether the symbol is a part or clone of the function NAME. */
static bool is_clone_of(const struct plumb_usersym *s, const char *name)
{
	struct plumb_usersym whole = *s;
	char text[PLUMB_DEMANGLED];

	whole.length = plumb_userfunc_stem(s);
	if (whole.length == s->length)
		return false;
	if (strlen(name) == whole.length && !memcmp(name, s->name, whole.length))
		return true;
	if (strncmp(s->name, "_Z", 2) && strncmp(s->name, "_R", 2))
		return false;
	plumb_userfunc_show(&whole, false, text, sizeof(text));
	return !strcmp(text, name);
}

static int complain_of_ifunc(const struct plumb_usersyms *syms, const char *path, const char *name)
{
	struct names names = {};

	for (size_t i = 0; i < syms->n; i++)
		if (is_implementation_of(&syms->all[i], name))
			add(&names, syms->all[i].name, syms->all[i].length);
	return plumb_error(ENOENT,
			   "%s in %s is an ifunc: at run time it becomes one of several "
			   "functions; name that one%s%s",
			   name, path, names.n ? ", one of " : "", names.text);
}

/* Prints that there is no such function, with similar names. */
static int complain_of_name(const struct plumb_usersyms *syms, const char *path, const char *name)
{
	const char **names = NULL;
	char suggestion[512], text[PLUMB_DEMANGLED];
	size_t n = 0;
	int err;

	for (size_t i = 0; i < syms->n; i++) {
		plumb_userfunc_show(&syms->all[i], false, text, sizeof(text));
		if (!syms->all[i].is_ifunc)
			*plumb_append(names, n) = plumb_copied(text);
	}
	plumb_suggest(name, names, n, suggestion, sizeof(suggestion));
	err = plumb_error(ENOENT, "no function %s in %s%s%s", name, path, suggestion,
			  *suggestion ? "?" : "");
	while (n)
		free((char *)names[--n]);
	free(names);
	return err;
}

int plumb_userfuncs_complain(const struct plumb_usersyms *syms, const char *path,
			     const struct plumb_userfunc_pattern *p, bool is_go)
{
	struct names versions = {}, clones = {};
	bool is_ifunc = false, has_name = false;

	for (size_t i = 0; i < syms->n; i++) {
		const struct plumb_usersym *s = &syms->all[i];

		is_ifunc |= s->is_ifunc && plumb_userfunc_matches(p, s);
		has_name |= is_named(p, s);
		if (s->version && is_named(p, s))
			add(&versions, s->version, strcspn(s->version, "@"));
		if (is_clone_of(s, p->name))
			add(&clones, s->name, s->length);
	}
	if (is_ifunc)
		return complain_of_ifunc(syms, path, p->name);
	if (p->version && versions.n)
		return plumb_error(ENOENT, "%s in %s has no version %s: it has %s", p->name, path,
				   p->version, versions.text);
	if (p->version && has_name)
		return plumb_error(ENOENT, "%s in %s has no version %s: it has none", p->name, path,
				   p->version);
	if (clones.n)
		return plumb_error(ENOENT,
				   "no function %s in %s: the compiler kept only %s; name these",
				   p->name, path, clones.text);
	if (!syms->n && is_go)
		return plumb_error(ENOENT,
				   "%s is a Go program without symbols (go build -ldflags=-s): "
				   "its own table of functions is not read",
				   path);
	if (!syms->n)
		return plumb_error(ENOENT, "%s has no function names (%s)", path,
				   syms->is_debug_file ? "it is a debug file: name the file that "
							 "has the code"
				   : syms->debug_fd == -ESTALE
					   ? "stripped; its debug file is of another build or user"
					   : "stripped or damaged");
	return complain_of_name(syms, path, p->name);
}

void plumb_userfuncs_mention_clones(const struct plumb_usersyms *syms, const char *path,
				    const char *name)
{
	struct names names = {};

	/* A cold part is entered from the function, whose calls are all seen. */
	for (size_t i = 0; i < syms->n; i++)
		if (is_clone_of(&syms->all[i], name) && !plumb_userfunc_is_cold(&syms->all[i]))
			add(&names, syms->all[i].name, syms->all[i].length);
	if (names.n)
		plumb_warn("%s in %s: some calls may enter %s instead: name %s, too", name, path,
			   names.text, names.n > 1 ? "them" : "it");
}
