/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>
#include <plumb/core/memory.h>
#include <plumb/functions/lists.h>
#include <plumb/functions/traceability.h>
#include <plumb/terminal/suggest.h>

int plumb_lists_fill(struct plumb_lists *lists)
{
	int err;

	*lists = (struct plumb_lists){};
	err = plumb_symbols_read(&lists->symbols);
	if (!err)
		plumb_blacklist_read(&lists->blacklist);
	return err;
}

void plumb_lists_fill_traceable(struct plumb_lists *lists)
{
	if (!lists->traceable_was_read)
		plumb_traceable_read(&lists->traceable);
	lists->traceable_was_read = true;
}

void plumb_lists_empty(struct plumb_lists *lists)
{
	plumb_blacklist_free(&lists->blacklist);
	plumb_names_free(&lists->traceable);
	plumb_symbols_free(&lists->symbols);
}

struct plumb_lists *plumb_lists_read(void)
{
	struct plumb_lists *lists = plumb_zeroed(1, sizeof(*lists));

	if (!plumb_lists_fill(lists)) {
		plumb_lists_fill_traceable(lists);
		return lists;
	}
	free(lists);
	return NULL;
}

struct plumb_lists *plumb_lists_of(const char *symbols)
{
	struct plumb_lists *lists = plumb_zeroed(1, sizeof(*lists));

	plumb_symbols_parse(&lists->symbols, plumb_copied(symbols));
	plumb_blacklist_derive(&lists->blacklist, symbols);
	return lists;
}

void plumb_lists_derive(struct plumb_lists *lists, const char *symbols)
{
	plumb_blacklist_free(&lists->blacklist);
	plumb_blacklist_derive(&lists->blacklist, symbols);
}

void plumb_lists_free(struct plumb_lists *lists)
{
	if (lists)
		plumb_lists_empty(lists);
	free(lists);
}

bool plumb_lists_know_traceable(const struct plumb_lists *lists)
{
	return lists->traceable.slots;
}

bool plumb_lists_know_blacklist(const struct plumb_lists *lists)
{
	return lists->blacklist.is_known;
}

bool plumb_lists_know_boot_only(const struct plumb_lists *lists)
{
	return lists->symbols.end;
}

/* ftrace lists a function by only one of its aliases. */
static bool is_traceable(const struct plumb_lists *lists, struct plumb_symbol *s)
{
	struct plumb_symbol *alias;
	size_t n = plumb_symbol_aliases(&lists->symbols, s, &alias);

	for (; n; n--, alias++)
		if (plumb_names_have(&lists->traceable, alias->name))
			return true;
	return false;
}

struct plumb_traceability plumb_lists_judge(const struct plumb_lists *lists, struct plumb_symbol *s)
{
	return (struct plumb_traceability){
		.name = s->name,
		.module = s->module,
		.address = s->address,
		.changed = !plumb_suffix_is_harmless(s->name),
		.cold = plumb_name_is_cold(s->name),
		.boot_only = !plumb_symbol_exists(&lists->symbols, s),
		.untraced = lists->traceable.slots && !is_traceable(lists, s),
		.blacklisted = plumb_blacklist_has(&lists->blacklist, s),
	};
}

/* Adds the symbols that match, by MATCHES, to ALL[0..n); returns the new n. */
static size_t add_matches(const struct plumb_lists *lists, const struct plumb_pattern *p,
			  plumb_matcher *matches, struct plumb_traceability **all, size_t n)
{
	struct plumb_symbol *s = lists->symbols.all;

	for (size_t i = 0; i < lists->symbols.n; i++, s++)
		if (plumb_pattern_is_about(p, s) && matches(p, s))
			*plumb_append(*all, n) = plumb_lists_judge(lists, s);
	return n;
}

size_t plumb_lists_find(const struct plumb_lists *lists, const char *name,
			struct plumb_traceability **all)
{
	struct plumb_pattern p;
	size_t n;

	*all = NULL;
	plumb_pattern_read(&p, name);
	n = add_matches(lists, &p, plumb_pattern_names, all, 0);
	return add_matches(lists, &p, plumb_pattern_left, all, n);
}

bool plumb_lists_have_module(const struct plumb_lists *lists, const struct plumb_pattern *p)
{
	for (size_t i = 0; i < lists->symbols.n; i++)
		if (plumb_pattern_is_about(p, &lists->symbols.all[i]))
			return true;
	return !p->module || !strcmp(p->module, "vmlinux");
}

void plumb_lists_suggest_for_pattern(const struct plumb_lists *lists, const struct plumb_pattern *p,
				     char *text, size_t size)
{
	const char **names = NULL;
	struct plumb_symbol *s = lists->symbols.all;
	size_t n = 0;

	for (size_t i = 0; i < lists->symbols.n; i++, s++)
		if (plumb_pattern_is_about(p, s) && !plumb_symbol_is_internal(s) &&
		    plumb_symbol_exists(&lists->symbols, s))
			/* As users type it, without suffix. */
			*plumb_append(names, n) =
				plumb_text("%.*s", (int)strcspn(s->name, "."), s->name);
	plumb_suggest(p->name, names, n, text, size);
	while (n)
		free((char *)names[--n]);
	free(names);
}

const char *plumb_lists_suggest(const struct plumb_lists *lists, const char *name, char *text,
				size_t size)
{
	struct plumb_pattern p;

	plumb_pattern_read(&p, name);
	plumb_lists_suggest_for_pattern(lists, &p, text, size);
	return text;
}
