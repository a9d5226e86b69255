/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/functions/lists.h>
#include <plumb/functions/traceability.h>

static int compare(const void *a, const void *b)
{
	const struct plumb_traceability *f = a, *g = b;
	int order = strcmp(f->module ?: "", g->module ?: "") ?: strcmp(f->name, g->name);

	return order ?: (f->address > g->address) - (f->address < g->address);
}

int plumb_functions_all(const struct plumb_lists *lists, struct plumb_functions *found)
{
	struct plumb_symbol *s = lists->symbols.all, *end = s + lists->symbols.n;
	struct plumb_traceability *all = calloc(lists->symbols.n + 1, sizeof(*all));
	size_t n = 0;
	int err;

	*found = (struct plumb_functions){};
	if (!all)
		return plumb_error(ENOMEM, "no memory for the kernel's functions");
	for (; s < end; s++) {
		if (plumb_symbol_is_internal(s))
			continue;
		all[n] = plumb_lists_judge(lists, s);
		n += !all[n].cold && !all[n].boot_only;
	}
	qsort(all, n, sizeof(*all), compare);
	err = plumb_functions_of(all, n, NULL, found);
	free(all);
	return err;
}
