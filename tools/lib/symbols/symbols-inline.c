// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions that are inlined at an address, from DWARF.  The address ranges of a file's units and
 * functions lead to a function, whose tree of inlined calls is walked.
 *
 * libdw's own walk is not used, since a damaged file can make it recurse without limit.
 */
#include "symbols.h"
#include <dwarf.h>
#include <stdlib.h>
#include <plumb/core/memory.h>
#include <plumb/symbols/dwarffile.h>

/* Limits of the nesting of DIEs, and of those visited in a walk; only damaged files exceed them. */
#define DEPTH 64
#define STEPS (1 << 22)

struct range {
	uint64_t start, end;
	Dwarf_Off die;
};

struct ranges {
	struct range *all;
	size_t n;
	bool is_sorted;
};

struct unit {
	Dwarf_Off die;
	struct ranges functions;
	bool is_read;
};

struct plumb_inlines {
	struct plumb_dwarf file;
	struct ranges code;
	struct unit *units; /* by offset */
	size_t n_units;
};

/* --- ranges --- */

/* Adds all ranges of a DIE. */
static void add_ranges(struct ranges *r, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	/* Functions that the linker dropped have address 0. */
	for (int i = 0; i < STEPS && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0; i++)
		if (start && start < end)
			*plumb_append(r->all, r->n) =
				(struct range){start, end, dwarf_dieoffset(die)};
}

static int by_start(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static struct range *find(struct ranges *r, uint64_t address)
{
	size_t low = 0, high = r->n, middle;

	if (r->n && !r->is_sorted)
		qsort(r->all, r->n, sizeof(*r->all), by_start);
	r->is_sorted = true;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (r->all[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < r->all[low - 1].end ? &r->all[low - 1] : NULL;
}

/* --- a unit's functions --- */

/* Adds the functions below PARENT, including those in namespaces and types. */
static void add_functions(struct ranges *r, Dwarf_Die *parent, int depth, int *steps)
{
	Dwarf_Die die;

	if (depth > DEPTH || dwarf_child(parent, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			add_ranges(r, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			add_functions(r, &die, depth + 1, steps);
			break;
		}
	} while (--*steps > 0 && !dwarf_siblingof(&die, &die));
}

static int by_offset(const void *left, const void *right)
{
	const struct unit *a = left, *b = right;

	return (a->die > b->die) - (a->die < b->die);
}

/* The functions of the unit whose DIE is at OFFSET; NULL: there is no such unit. */
static struct ranges *functions_of(struct plumb_inlines *i, Dwarf_Off offset)
{
	struct unit *unit = bsearch(&(struct unit){.die = offset}, i->units, i->n_units,
				    sizeof(*unit), by_offset);
	int steps = STEPS;
	Dwarf_Die die;

	if (!unit)
		return NULL;
	if (!unit->is_read && dwarf_offdie(i->file.dwarf, offset, &die))
		add_functions(&unit->functions, &die, 0, &steps);
	unit->is_read = true;
	return &unit->functions;
}

/* --- the walk --- */

/* Finds the block or inlined call in PARENT that contains ADDRESS. */
static bool descend(Dwarf_Die *parent, uint64_t address, int *steps, Dwarf_Die *die)
{
	int tag;

	if (dwarf_child(parent, die))
		return false;
	do {
		tag = dwarf_tag(die);
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(die, address) > 0)
			return true;
	} while (--*steps > 0 && !dwarf_siblingof(die, die));
	return false;
}

size_t plumb_inlines_find(struct plumb_inlines *i, uint64_t address, const char **names, size_t max)
{
	struct range *range = find(&i->code, address);
	struct ranges *functions = range ? functions_of(i, range->die) : NULL;
	const char *chain[DEPTH], *name;
	int steps = STEPS;
	size_t n = 0, k;
	Dwarf_Die die, inner;

	range = functions ? find(functions, address) : NULL;
	if (!range || !dwarf_offdie(i->file.dwarf, range->die, &die))
		return 0;
	for (int depth = 0; depth < DEPTH && descend(&die, address, &steps, &inner); depth++) {
		die = inner;
		name = dwarf_tag(&die) == DW_TAG_inlined_subroutine ? plumb_dwarf_name(&die) : NULL;
		if (name)
			chain[n++] = name;
	}
	for (k = 0; k < n && k < max; k++)
		names[k] = chain[n - 1 - k];
	return k;
}

/* --- the file --- */

static void read_units(struct plumb_inlines *i)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (!dwarf_get_units(i->file.dwarf, unit, &unit, NULL, NULL, &die, NULL)) {
		*plumb_append(i->units, i->n_units) = (struct unit){.die = dwarf_dieoffset(&die)};
		add_ranges(&i->code, &die);
	}
}

struct plumb_inlines *plumb_inlines_open(int fd)
{
	struct plumb_inlines *i = plumb_zeroed(1, sizeof(*i));

	if (!plumb_dwarf_open(fd, &i->file)) {
		free(i);
		return NULL;
	}
	read_units(i);
	return i;
}

void plumb_inlines_close(struct plumb_inlines *i)
{
	if (!i)
		return;
	for (size_t k = 0; k < i->n_units; k++)
		free(i->units[k].functions.all);
	free(i->units);
	free(i->code.all);
	plumb_dwarf_close(&i->file);
	free(i);
}
