/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* names: find the functions at addresses, in one pass over /proc/kallsyms. */
#include "target.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/functions/lists.h>

struct pending {
	struct attachment *link;
	uint64_t best; /* the highest symbol found up to its address; 0: none */
	char name[512];
};

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct pending *)a)->link->address;
	uint64_t y = ((const struct pending *)b)->link->address;

	return (x > y) - (x < y);
}

/* The first of N whose address is not below ADDRESS. */
static size_t search(const struct pending *list, size_t n, uint64_t address)
{
	size_t low = 0, middle;

	while (low < n) {
		middle = low + (n - low) / 2;
		if (list[middle].link->address < address)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/*
 * Give each symbol to the first link at or above its address.  Links above that one, without a
 * symbol between, have the same name and get it at the end.
 */
static void read_symbols(struct pending *list, size_t n, FILE *f)
{
	struct plumb_symbol symbol;
	char line[1024];
	uint64_t at;
	size_t i;

	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (!plumb_symbol_cut(line, &symbol))
			continue;
		at = symbol.address;
		i = search(list, n, at);
		if (i == n || at <= list[i].best)
			continue;
		list[i].best = at;
		snprintf(list[i].name, sizeof(list[i].name), "%s", symbol.name);
	}
	for (i = 1; i < n; i++) {
		if (list[i].best >= list[i - 1].best)
			continue;
		list[i].best = list[i - 1].best;
		strcpy(list[i].name, list[i - 1].name);
	}
}

void target_name(struct attachment *links, size_t n_links)
{
	struct pending *list = calloc(n_links + 1, sizeof(*list));
	size_t n = 0;
	FILE *f;

	for (size_t i = 0; list && i < n_links; i++)
		if (links[i].address && !links[i].target)
			list[n++].link = &links[i];
	f = n ? fopen("/proc/kallsyms", "re") : NULL;
	if (f) {
		qsort(list, n, sizeof(*list), by_address);
		read_symbols(list, n, f);
		fclose(f);
	}
	for (size_t i = 0; i < n; i++)
		if (*list[i].name)
			list[i].link->target = strdup(list[i].name);
	free(list);
}
