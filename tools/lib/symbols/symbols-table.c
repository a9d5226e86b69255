// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbols.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/memory.h>

/* Maximum number of symbols between an address and its own symbol: nested or overlapping ones. */
#define NESTED 16

/* Maximum number of symbols, more than any program has; a sparse file can claim to have more. */
#define SYMBOLS (1 << 22)

/* Bytes of a name that are compared; in a damaged file a name can be as long as the file. */
#define NAME 256

int64_t plumb_symtab_text(struct plumb_symtab *t, const void *text, size_t size)
{
	size_t room = t->text_room, start = t->text_size;

	if (start + size + 1 > UINT32_MAX)
		return -EFBIG;
	if (start + size + 1 > room) {
		room = start + size + 1 > 2 * room ? start + size + 1 : 2 * room;
		t->text = plumb_required(realloc(t->text, room));
		t->text_room = room;
	}
	memcpy(t->text + start, text, size);
	t->text[start + size] = 0;
	t->text_size = start + size + 1;
	return start;
}

int plumb_symtab_add(struct plumb_symtab *t, uint64_t address, uint64_t size, uint32_t name,
		     unsigned int rank)
{
	if (t->n == SYMBOLS)
		return -EFBIG;
	*plumb_append(t->all, t->n) = (struct plumb_symtab_entry){
		.address = address,
		.size = size < 1 << 28 ? size : (1 << 28) - 1,
		.name = name,
		.rank = rank,
	};
	t->is_ready = false;
	return 0;
}

/* Orders aliases: the name that users know has the fewest leading underscores, and is short. */
static int compare_names(const char *a, const char *b)
{
	size_t i = strspn(a, "_"), j = strspn(b, "_"), n = strnlen(a, NAME), m = strnlen(b, NAME);

	if (i != j)
		return i < j ? -1 : 1;
	return n != m ? (n < m ? -1 : 1) : strncmp(a, b, NAME);
}

static int compare(const void *left, const void *right, void *table)
{
	const struct plumb_symtab_entry *a = left, *b = right;
	const struct plumb_symtab *t = table;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (t->is_log)
		return (a->name < b->name) - (a->name > b->name);
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return compare_names(t->text + a->name, t->text + b->name);
}

/*
 * Sorts the table.  Keeps one symbol per address, and those without a size only where no other
 * covers them.
 */
static void settle(struct plumb_symtab *t)
{
	uint64_t covered = 0;
	size_t n = 0;

	if (t->n)
		qsort_r(t->all, t->n, sizeof(*t->all), compare, t);
	for (size_t i = 0; i < t->n; i++) {
		struct plumb_symtab_entry *e = &t->all[i];
		bool is_sized = !(e->rank & PLUMB_SYMTAB_UNSIZED);

		if (n && t->all[n - 1].address == e->address) {
			t->all[n - 1].is_reused |=
				t->is_log && (e->is_reused || strcmp(t->text + e->name,
								     t->text + t->all[n - 1].name));
			continue;
		}
		if (!is_sized && e->address < covered)
			continue;
		if (is_sized && e->address + e->size > covered)
			covered = e->address + e->size;
		t->all[n++] = *e;
	}
	t->n = n;
	for (size_t i = 0; i + 1 < n; i++) {
		uint64_t room = t->all[i + 1].address - t->all[i].address;

		if (t->all[i].rank & PLUMB_SYMTAB_UNSIZED && t->all[i].size > room)
			t->all[i].size = room;
	}
	t->is_ready = true;
}

/* Of two that overlap in a log. */
static struct plumb_symtab_entry *newer(const struct plumb_symtab *t, struct plumb_symtab_entry *a,
					struct plumb_symtab_entry *b)
{
	struct plumb_symtab_entry *last = a->name > b->name ? a : b;

	if (strcmp(t->text + a->name, t->text + b->name))
		last->is_reused = true;
	return last;
}

struct plumb_symtab_entry *plumb_symtab_find(struct plumb_symtab *t, uint64_t address)
{
	struct plumb_symtab_entry *found = NULL, *e;
	size_t low = 0, high, middle;

	if (!t->is_ready)
		settle(t);
	for (high = t->n; low < high;) {
		middle = low + (high - low) / 2;
		if (t->all[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < NESTED && low-- > 0; i++) {
		e = &t->all[low];
		if (address - e->address >= e->size)
			continue;
		if (!t->is_log)
			return e;
		found = found ? newer(t, found, e) : e;
	}
	return found;
}

void plumb_symtab_free(struct plumb_symtab *t)
{
	free(t->all);
	free(t->text);
	*t = (struct plumb_symtab){.is_log = t->is_log};
}
