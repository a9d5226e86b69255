/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "userfuncs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/elffile.h>
#include <plumb/user/code.h>

void plumb_userfunc_free(struct plumb_userfunc *u)
{
	free(u->name);
	free(u->aliases);
	free(u->returns);
	for (size_t i = 0; i < u->n_places; i++)
		free(u->places[i].arguments);
	free(u->places);
	*u = (struct plumb_userfunc){};
}

void plumb_userfuncs_drop(struct plumb_userfuncs *u)
{
	size_t n = 0;

	for (size_t i = 0; i < u->n; i++)
		if (u->list[i].is_unwanted)
			plumb_userfunc_free(&u->list[i]);
		else
			u->list[n++] = u->list[i];
	u->n = n;
}

void plumb_userfuncs_free(struct plumb_userfuncs *u)
{
	for (size_t i = 0; i < u->n; i++)
		plumb_userfunc_free(&u->list[i]);
	free(u->list);
	free(u->path);
	*u = (struct plumb_userfuncs){};
}

/* A search in an open file. */
struct search {
	const struct plumb_elf *file;
	struct plumb_userfunc_pattern pattern;
	struct plumb_usersyms syms;
	const struct plumb_usersym **ifuncs; /* by name */
	size_t n_ifuncs;
	struct plumb_userfunc_match *matches;
	size_t n;
	struct plumb_userfuncs *found;
	bool at_returns; /* return instructions are probed */
};

/* --- names of ifuncs --- */

static int by_name(const void *left, const void *right)
{
	const struct plumb_usersym *a = *(const struct plumb_usersym *const *)left,
				   *b = *(const struct plumb_usersym *const *)right;
	int order = memcmp(a->name, b->name, a->length < b->length ? a->length : b->length);

	return order ?: (a->length > b->length) - (a->length < b->length);
}

static void find_ifuncs(struct search *s)
{
	for (size_t i = 0; i < s->syms.n; i++)
		if (s->syms.all[i].is_ifunc)
			*plumb_append(s->ifuncs, s->n_ifuncs) = &s->syms.all[i];
	if (s->n_ifuncs)
		qsort(s->ifuncs, s->n_ifuncs, sizeof(*s->ifuncs), by_name);
}

/* Other versions of an ifunc's name may be functions, but programs do not call them by default. */
static bool is_ifunc(const struct search *s, const struct plumb_usersym *symbol)
{
	return symbol->is_ifunc ||
	       (!s->pattern.version && s->n_ifuncs &&
		bsearch(&symbol, s->ifuncs, s->n_ifuncs, sizeof(*s->ifuncs), by_name));
}

/* --- matches --- */

/* Of N symbols of one function, one of which matches. */
static const char *find_return_obstacle(const struct search *s, const struct plumb_usersym *all,
					size_t n, const struct plumb_usersym *match)
{
	const bool is_c = plumb_elf_is_c_library(s->file->path);

	if (plumb_userfunc_is_cold(match))
		return "a part of a function that is entered by a jump: it has no return";
	for (size_t i = 0; i < n && !s->at_returns; i++) {
		if (plumb_userfunc_keeps_return(&all[i]))
			return PLUMB_CODE_USES_RETURN;
		if (is_c && plumb_userfunc_calls_back(&all[i]))
			return "it calls back, and an exception of C++ from there would end the "
			       "program at a return probe";
	}
	return NULL;
}

/* Appends the function of the N symbols from number FIRST on, of which number MATCH matches. */
static void append(struct search *s, size_t first, size_t n, size_t match)
{
	const struct plumb_usersym *all = &s->syms.all[first];
	struct plumb_userfuncs *u = s->found;
	uint64_t size = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].size > size)
			size = all[i].size;
	if (!size && first + n < s->syms.n)
		size = all[n].offset - all->offset;
	*plumb_append(s->matches, s->n) = (struct plumb_userfunc_match){
		.symbol = &s->syms.all[match],
		.first = first,
		.n = n,
	};
	*plumb_append(u->list, u->n) = (struct plumb_userfunc){
		.offset = all->offset,
		.size = size,
		.return_obstacle = find_return_obstacle(s, all, n, &s->syms.all[match]),
	};
}

/* Appends each function of which a symbol matches. */
static void collect(struct search *s)
{
	const struct plumb_usersym *all = s->syms.all;

	for (size_t i = 0, next; i < s->syms.n; i = next) {
		size_t match = SIZE_MAX;

		for (next = i; next < s->syms.n && all[next].offset == all[i].offset; next++)
			if (match == SIZE_MAX && !is_ifunc(s, &all[next]) &&
			    plumb_userfunc_matches(&s->pattern, &all[next]))
				match = next;
		if (match != SIZE_MAX)
			append(s, i, next - i, match);
	}
}

static int find_in(struct search *s, const char *function, bool returns)
{
	struct plumb_userfuncs *found = s->found;
	const char *path = s->file->path;
	int err;

	s->at_returns = returns;
	plumb_userfunc_parse(function, &s->pattern);
	found->is_go = plumb_elf_is_go(s->file->elf);
	found->has_go_registers = plumb_elf_has_go_registers(s->file->elf);
	found->is_32bit = gelf_getclass(s->file->elf) == ELFCLASS32;
	plumb_usersyms_read(s->file, &s->syms);
	find_ifuncs(s);
	collect(s);
	if (!found->n)
		return plumb_userfuncs_complain(&s->syms, path, &s->pattern, found->is_go);
	plumb_userfuncs_name(&s->syms, &s->pattern, s->matches, found);
	err = plumb_userfuncs_inspect(s->file, &s->syms, s->pattern.start, returns, found);
	if (err)
		return err;
	plumb_userfuncs_check_starts(s->file, found);
	plumb_userfuncs_mention_clones(&s->syms, path, s->pattern.name);
	return 0;
}

/* --- a target --- */

/* Finds the functions of FILE, which it closes; ERR: it could not be opened. */
static int find_and_close(struct plumb_elf *file, int err, const char *function, bool returns,
			  struct plumb_userfuncs *found)
{
	struct search s = {.file = file, .found = found, .syms = {.debug_fd = -1}};

	*found = (struct plumb_userfuncs){};
	if (!err)
		err = find_in(&s, function, returns);
	plumb_usersyms_free(&s.syms);
	free(s.pattern.name);
	free(s.ifuncs);
	free(s.matches);
	if (err) {
		plumb_userfuncs_free(found);
	} else {
		found->path = file->path;
		file->path = NULL;
	}
	plumb_elf_close(file);
	return err;
}

int plumb_userfuncs_find_in(int fd, const char *shown, const char *function, bool returns,
			    struct plumb_userfuncs *found)
{
	struct plumb_elf file;
	int err = plumb_elf_open_fd(fd, shown, &file);

	return find_and_close(&file, err, function, returns, found);
}

int plumb_userfuncs_find(const char *target, struct plumb_userfuncs *found)
{
	char *name = plumb_copied(target), *function = strchr(name, ':');
	struct plumb_elf file;
	int err;

	*found = (struct plumb_userfuncs){};
	if (!function || function == name || !function[1]) {
		free(name);
		return plumb_error(EINVAL, "user function '%s': should be FILE:FUNCTION", target);
	}
	*function++ = 0;
	err = plumb_elf_open(name, &file);
	err = find_and_close(&file, err, function, false, found);
	free(name);
	return err;
}
