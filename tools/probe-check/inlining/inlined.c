/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* inlined: count inlined calls in debugging information. */
#include "inlining/code.h"
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/symbols/dwarffile.h>
#include <plumb/terminal/progress.h>

#define DEEPEST 256 /* nested DIEs; compilers nest some tens */

/*
 * A function in the sources.  Several source files may have one with the same name: the line and
 * column of its declaration distinguish them.  Its file is not known without reading the line
 * table.
 */
struct source {
	int line, column;
	size_t inlined;
	bool is_here; /* its code is at the callee's address */
	bool is_compiled;
};

/* The name of a callee, which has it, or debugging information. */
struct wanted {
	const char *name;
	size_t length;
	size_t index; /* of the callee */
};

struct count {
	struct plumb_callee *callees;
	size_t n;
	uint64_t bias;
	struct plumb_scan addresses;
	struct text {
		const char *start, *end;
	} * texts; /* debug sections, which contain the strings */
	size_t n_texts;
	const char **aliases;  /* by callee: the source name of the function at its address */
	struct wanted *wanted; /* sorted by name; a callee may have two */
	size_t n_wanted;
	struct sources {
		struct source *all;
		size_t n;
	} * sources; /* by callee */
};

static int compare(const void *a, const void *b)
{
	const struct wanted *v = a, *w = b;
	const size_t n = v->length < w->length ? v->length : w->length;

	return strncmp(v->name, w->name, n) ?: (v->length > w->length) - (v->length < w->length);
}

/* Add the names by which a callee may be known: "foo.isra.0" is foo in its sources. */
static void want(struct count *c, size_t index, const char *name)
{
	size_t all = strlen(name), n = *name ? strcspn(name + 1, ".") + 1 : 0;

	if (n)
		c->wanted[c->n_wanted++] = (struct wanted){name, n, index};
	if (n < all)
		c->wanted[c->n_wanted++] = (struct wanted){name, all, index};
}

static void sort_wanted(struct count *c)
{
	if (c->n_wanted)
		qsort(c->wanted, c->n_wanted, sizeof(*c->wanted), compare);
}

static int begin(struct count *c, uint64_t bias, struct plumb_callee *callees, size_t n)
{
	*c = (struct count){.callees = callees, .n = n, .bias = bias};
	c->wanted = calloc(2 * n + 1, sizeof(*c->wanted));
	c->sources = calloc(n + 1, sizeof(*c->sources));
	c->aliases = calloc(n + 1, sizeof(*c->aliases));
	if (!c->wanted || !c->sources || !c->aliases)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		want(c, i, callees[i].name);
	sort_wanted(c);
	return plumb_scan_begin(&c->addresses, EM_NONE, callees, n);
}

static bool is_debug(Elf *elf, Elf_Scn *section)
{
	GElf_Shdr header;
	const char *name;
	size_t names;

	return !elf_getshdrstrndx(elf, &names) && gelf_getshdr(section, &header) &&
	       (name = elf_strptr(elf, names, header.sh_name)) &&
	       (!strncmp(name, ".debug_", 7) || !strncmp(name, ".zdebug_", 8));
}

static int add_texts(struct count *c, Elf *elf)
{
	Elf_Scn *section = NULL;
	struct text *more;
	Elf_Data *data;
	size_t n = 0;

	if (elf_getshdrnum(elf, &n))
		return 0;
	more = realloc(c->texts, (c->n_texts + n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->texts = more;
	while (n-- && (section = elf_nextscn(elf, section))) {
		data = is_debug(elf, section) ? elf_getdata(section, NULL) : NULL;
		if (data && data->d_buf)
			c->texts[c->n_texts++] = (struct text){
				data->d_buf, (const char *)data->d_buf + data->d_size};
	}
	return 0;
}

/* Sum up the source at the callee's address or, if none is there, all with its name. */
static void sum_up(struct plumb_callee *callee, const struct sources *sources)
{
	const struct source *s, *last = sources->all + sources->n;
	bool is_here = false;

	for (s = sources->all; s < last; s++)
		is_here |= s->is_here;
	callee->described = sources->n;
	for (s = sources->all; s < last; s++) {
		if (is_here && !s->is_here)
			continue;
		callee->inlined += s->inlined;
		callee->compiled |= s->is_compiled;
	}
}

static void end(struct count *c, bool is_good)
{
	for (size_t i = 0; c->sources && i < c->n; i++) {
		if (is_good)
			sum_up(&c->callees[i], &c->sources[i]);
		free(c->sources[i].all);
	}
	free(c->wanted);
	free(c->sources);
	free(c->aliases);
	free(c->texts);
	free(c->addresses.marked);
}

/* libdw 0.188 may return a string without NUL, up to the end of its section: reject it. */
static const char *string_of(const struct count *c, Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	const char *text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));

	for (size_t i = 0; text && i < c->n_texts; i++)
		if (text >= c->texts[i].start && text < c->texts[i].end)
			return memchr(text, 0, c->texts[i].end - text) ? text : NULL;
	return NULL;
}

static struct wanted *find(const struct count *c, const char *name)
{
	const struct wanted key = {.name = name, .length = strlen(name)};
	struct wanted *w = bsearch(&key, c->wanted, c->n_wanted, sizeof(key), compare);

	while (w && w > c->wanted && !compare(w - 1, &key))
		w--;
	return w;
}

static bool has(Dwarf_Die *die, unsigned int name)
{
	return dwarf_hasattr(die, name);
}

/* Find or add the source function that DIE describes, among those of one callee. */
static struct source *take_source(struct count *c, size_t index, Dwarf_Die *die)
{
	struct sources *sources = &c->sources[index];
	struct source *s;
	int line = 0, column = 0;

	dwarf_decl_line(die, &line);
	dwarf_decl_column(die, &column);
	for (s = sources->all; s < sources->all + sources->n; s++)
		if (s->line == line && s->column == column)
			return s;
	s = realloc(sources->all, (sources->n + 1) * sizeof(*s));
	if (!s)
		return NULL;
	sources->all = s;
	s += sources->n++;
	*s = (struct source){.line = line, .column = column};
	return s;
}

/*
 * Record a DIE: a function with its code at LOW (0: no code), or an inlined call, of the whole or
 * of the rest.  foo.part.0 is the rest only.
 */
static int take(struct count *c, size_t index, Dwarf_Die *die, bool of_rest, uint64_t low)
{
	const bool is_rest = strstr(c->callees[index].name, ".part.");
	struct source *s = take_source(c, index, die);

	if (!s)
		return -ENOMEM;
	s->inlined += dwarf_tag(die) == DW_TAG_inlined_subroutine && of_rest == is_rest;
	s->is_compiled |= low != 0;
	s->is_here |= low && low == c->callees[index].address;
	return 0;
}

static int take_named(struct count *c, const char *name, Dwarf_Die *die, bool of_rest, uint64_t low)
{
	const struct wanted *first = find(c, name), *w = first;
	int err = 0;

	for (; !err && w && w < c->wanted + c->n_wanted && !compare(w, first); w++)
		err = take(c, w->index, die, of_rest, low);
	return err;
}

/* The alias of the callee at ADDRESS, which several may have; NULL: there is none. */
static const char **alias_of(const struct count *c, uint64_t address)
{
	struct plumb_callee *callee =
		address ? plumb_scan_find(&c->addresses, address, PLUMB_MARK_CODE) : NULL;

	return callee ? &c->aliases[callee - c->callees] : NULL;
}

/* Record the source name at a callee's address, which may differ: malloc is __libc_malloc. */
static void note_alias(struct count *c, const char *name, uint64_t low)
{
	const char **alias = alias_of(c, low);

	if (alias && !*alias)
		*alias = name;
}

/* The address of a function's first byte; 0: it has no code. */
static uint64_t address_of(const struct count *c, Dwarf_Die *die)
{
	Dwarf_Addr low, base, end;

	/* A function with a cold part has ranges; the hot part is the first. */
	if (!dwarf_entrypc(die, &low) || dwarf_ranges(die, 0, &base, &low, &end) > 0)
		return low ? low + c->bias : 0;
	return 0;
}

/*
 * The rest of a partially inlined function is nested in it, as another inlined call of the same
 * function.  The outer call (PARENT) was counted.
 */
static bool is_rest(Dwarf_Die *die, Dwarf_Die *parent)
{
	Dwarf_Attribute a, b;
	Dwarf_Die origin, origin_of_parent;

	return parent && dwarf_tag(die) == DW_TAG_inlined_subroutine &&
	       dwarf_tag(parent) == DW_TAG_inlined_subroutine &&
	       dwarf_formref_die(dwarf_attr(die, DW_AT_abstract_origin, &a), &origin) &&
	       dwarf_formref_die(dwarf_attr(parent, DW_AT_abstract_origin, &b),
				 &origin_of_parent) &&
	       origin.addr == origin_of_parent.addr;
}

static int look_at(struct count *c, Dwarf_Die *die, Dwarf_Die *parent)
{
	const bool of_rest = is_rest(die, parent);
	const char *name, *linkage;
	int tag = dwarf_tag(die), err = 0;
	uint64_t low = 0;

	if (tag == DW_TAG_inlined_subroutine) {
		/* Without code it is part of an abstract instance, which all copies share. */
		if (!has(die, DW_AT_low_pc) && !has(die, DW_AT_ranges) && !has(die, DW_AT_entry_pc))
			return 0;
	} else if (tag != DW_TAG_subprogram || has(die, DW_AT_declaration))
		return 0;
	else
		low = address_of(c, die);
	linkage = string_of(c, die, DW_AT_linkage_name);
	name = string_of(c, die, DW_AT_name);
	if (linkage)
		err = take_named(c, linkage, die, of_rest, low);
	/*
	 * In C++ many functions share a short name.  With whole-program optimization functions of C
	 * have linkage names, too.
	 */
	if (!err && name && (!linkage || strchr(linkage, '.')))
		err = take_named(c, name, die, of_rest, low);
	note_alias(c, linkage ?: name, low);
	return err;
}

/* Look at all DIEs of a unit.  Not recursive: a damaged file may nest them arbitrarily deep. */
static int walk(struct count *c, Dwarf_Die *unit)
{
	Dwarf_Die path[DEEPEST];
	size_t depth = 0;
	int err = 0;

	if (dwarf_child(unit, &path[0]))
		return 0;
	while (!err) {
		err = look_at(c, &path[depth], depth ? &path[depth - 1] : NULL);
		if (depth + 1 < DEEPEST && !dwarf_child(&path[depth], &path[depth + 1])) {
			depth++;
			continue;
		}
		while (dwarf_siblingof(&path[depth], &path[depth])) {
			if (!depth)
				return err;
			depth--;
		}
	}
	return err;
}

static int walk_all(struct count *c, Dwarf *dwarf)
{
	const size_t n = plumb_dwarf_count_units(dwarf);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int err = 0, more = 0;

	for (size_t i = 0;
	     !err && !(more = dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL)); i++) {
		plumb_progress("reading debugging information", i, n);
		err = walk(c, &die);
	}
	plumb_progress_end();
	return err ?: more < 0 ? -EBADMSG : 0;
}

/*
 * Search again for callees without a result, now by the names at their addresses.  c->n_wanted is 0
 * if there are none.
 */
static void want_aliases(struct count *c)
{
	c->n_wanted = 0;
	for (size_t i = 0; i < c->n; i++) {
		const char **alias = c->sources[i].n ? NULL : alias_of(c, c->callees[i].address);

		if (alias && *alias)
			want(c, i, *alias);
	}
	sort_wanted(c);
}

int plumb_inlined_count(Dwarf *dwarf, Dwarf *shared, uint64_t bias, struct plumb_callee *callees,
			size_t n)
{
	struct count c;
	int err = begin(&c, bias, callees, n) ?: add_texts(&c, dwarf_getelf(dwarf));

	if (!err && shared)
		err = add_texts(&c, dwarf_getelf(shared));
	if (!err)
		err = walk_all(&c, dwarf);
	if (!err) {
		want_aliases(&c);
		err = c.n_wanted ? walk_all(&c, dwarf) : 0;
	}
	end(&c, !err);
	return err;
}
