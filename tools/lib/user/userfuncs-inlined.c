/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* userfuncs-inlined: where functions were inlined, by DWARF. */
#include "userfuncs.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/dwarffile.h>
#include <plumb/terminal/progress.h>
#include <plumb/user/code.h>

/* Limits of the nesting of DIEs, and of those visited; only damaged files exceed them. */
#define DEPTH 256
#define STEPS (1 << 26)

/* Longest instruction, in bytes. */
#define INSTRUCTION 15

struct search {
	const struct plumb_elf *file;
	const struct plumb_userfunc_pattern *pattern;
	struct plumb_userfuncs *found;
	Dwarf_Die *function; /* the one with code that is walked; NULL: none */
	size_t lost;
	int steps;
};

/* The address where an inlined call begins; 0: none. */
static uint64_t entry_of(Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	Dwarf_Attribute attribute;
	Dwarf_Word distance;

	if (!dwarf_entrypc(die, &start))
		return start;
	/* DWARF 5 has a distance as well. */
	if (dwarf_attr(die, DW_AT_entry_pc, &attribute) &&
	    !dwarf_formudata(&attribute, &distance) && !dwarf_lowpc(die, &base))
		return base + distance;
	return dwarf_ranges(die, 0, &base, &start, &end) > 0 ? start : 0;
}

/* The start of the range of the walked function that has ADDRESS; 0: none. */
static uint64_t range_of(const struct search *s, uint64_t address)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(s->function, at, &base, &start, &end)) > 0)
		if (address >= start && address < end)
			return start;
	return 0;
}

/* Appends a call that begins at OFFSET; START: where its code is decoded from. */
static void append(struct search *s, const struct plumb_usersym *symbol, uint64_t start,
		   uint64_t offset)
{
	const bool is_32bit = gelf_getclass(s->file->elf) == ELFCLASS32;
	unsigned char code[INSTRUCTION] = {};
	ssize_t size = pread(s->file->fd, code, sizeof(code), offset);
	struct plumb_userfuncs *u = s->found;
	char text[PLUMB_DEMANGLED];

	plumb_userfunc_show(symbol, false, text, sizeof(text));
	*plumb_append(u->list, u->n) = (struct plumb_userfunc){
		.name = plumb_copied(text),
		.offset = offset,
		.obstacle = plumb_userfuncs_is_instruction(s->file, start, offset)
				    ? plumb_code_obstacle(code, size < 0 ? 0 : size, is_32bit)
				    : "a place inside an instruction",
		.is_stepped = plumb_code_is_stepped(code, size < 0 ? 0 : size, is_32bit),
		.return_obstacle = "an inlined function has no return",
	};
}

static void take(struct search *s, Dwarf_Die *die)
{
	const char *name = plumb_dwarf_name(die);
	struct plumb_usersym symbol = {.name = name, .length = name ? strcspn(name, "@") : 0};
	uint64_t address, start, first, offset;

	if (!name || !*name || !plumb_userfunc_matches(s->pattern, &symbol))
		return;
	address = entry_of(die);
	start = range_of(s, address);
	if (start && plumb_elf_offset(s->file->elf, start, PF_X, &first) &&
	    plumb_elf_offset(s->file->elf, address, PF_X, &offset))
		append(s, &symbol, first, offset);
	else
		s->lost++;
}

/* Whether code is described below a DIE with this tag: not below types. */
static bool has_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	default:
		return false;
	}
}

/* Visits what is below PARENT and has code. */
static void walk(struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die, *outer = s->function;
	Dwarf_Addr base, start, end;

	if (depth > DEPTH || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (!has_code(tag))
			continue;
		/* Of a function that is only inlined, nothing below has an address. */
		if (tag == DW_TAG_subprogram)
			s->function = dwarf_ranges(&die, 0, &base, &start, &end) > 0 ? &die : NULL;
		if (tag == DW_TAG_inlined_subroutine && s->function)
			take(s, &die);
		walk(s, &die, depth + 1);
		s->function = outer;
	} while (--s->steps > 0 && !dwarf_siblingof(&die, &die));
}

static int by_offset(const void *left, const void *right)
{
	const struct plumb_userfunc *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Sorts the places; those where several calls of a function begin are listed once. */
static void sort(struct search *s)
{
	struct plumb_userfuncs *u = s->found;
	const size_t n = u->n;

	if (n)
		qsort(u->list, n, sizeof(*u->list), by_offset);
	for (size_t i = 1; i < n; i++)
		u->list[i].is_unwanted = !by_offset(&u->list[i - 1], &u->list[i]);
	plumb_userfuncs_drop(u);
	s->lost += n - u->n;
}

static void search_units(struct search *s, Dwarf *dwarf)
{
	const size_t n = plumb_dwarf_count_units(dwarf);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	for (size_t i = 0; !dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL); i++) {
		plumb_progress("reading debugging information", i, n);
		walk(s, &die, 0);
	}
	plumb_progress_end();
	sort(s);
}

int plumb_userfuncs_inlined(int fd, const char *shown, const char *function,
			    struct plumb_userfuncs *found, struct plumb_inlined *facts)
{
	struct plumb_userfunc_pattern pattern = {};
	struct plumb_elf file = {.fd = -1};
	struct search s = {.file = &file, .pattern = &pattern, .found = found, .steps = STEPS};
	struct plumb_dwarf dwarf = {};
	int debug = -1, err;

	*found = (struct plumb_userfuncs){};
	*facts = (struct plumb_inlined){};
	plumb_userfunc_parse(function, &pattern);
	err = plumb_elf_open_fd(fd, shown, &file);
	if (!err && !(facts->known = plumb_dwarf_open(file.fd, &dwarf))) {
		debug = plumb_usersyms_open_debug(&file);
		facts->known = debug >= 0 && plumb_dwarf_open(debug, &dwarf);
	}
	if (!err && facts->known)
		search_units(&s, dwarf.dwarf);
	facts->lost = s.lost;
	plumb_dwarf_close(&dwarf);
	if (debug >= 0)
		close(debug);
	if (!err) {
		found->path = file.path;
		file.path = NULL;
	}
	plumb_elf_close(&file);
	free(pattern.name);
	return err;
}
