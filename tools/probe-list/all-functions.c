/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/functions/lists.h>
#include <plumb/functions/traceability.h>

static int compare(const void *a, const void *b)
{
	const struct plumb_function *f = a, *g = b;
	int order = strcmp(f->module ?: "", g->module ?: "") ?: strcmp(f->name, g->name);

	return order ?: (f->address > g->address) - (f->address < g->address);
}

static bool is_namesake(const struct plumb_function *f, const struct plumb_function *g)
{
	return !strcmp(f->name, g->name) && !strcmp(f->module ?: "", g->module ?: "");
}

static int add(struct plumb_functions *found, const struct plumb_traceability *is)
{
	struct plumb_function *f = &found->all[found->n++];

	*f = (struct plumb_function){
		.name = strdup(is->name),
		.module = is->module ? strdup(is->module) : NULL,
		.address = is->address,
		.changed = is->changed,
		.untraced = is->untraced,
		.blacklisted = is->blacklisted,
	};
	return f->name && (f->module || !is->module) ? 0 : -ENOMEM;
}

static int add_all(const struct plumb_lists *lists, struct plumb_functions *found)
{
	struct plumb_symbol *s = lists->symbols.all, *end = s + lists->symbols.n;
	struct plumb_traceability is;
	int err = 0;

	found->all = calloc(lists->symbols.n + 1, sizeof(*found->all));
	if (!found->all)
		return -ENOMEM;
	for (; !err && s < end; s++) {
		if (plumb_symbol_is_internal(s))
			continue;
		is = plumb_lists_judge(lists, s);
		if (!is.cold && !is.boot_only)
			err = add(found, &is);
	}
	return err;
}

int plumb_functions_all(const struct plumb_lists *lists, struct plumb_functions *found)
{
	struct plumb_function *f, *end;
	int err;

	*found = (struct plumb_functions){};
	err = add_all(lists, found);
	if (err)
		err = plumb_error(err, "no memory for the kernel's functions");
	end = found->all + found->n;
	if (found->n)
		qsort(found->all, found->n, sizeof(*found->all), compare);
	for (f = found->all; !err && f + 1 < end; f++)
		if (is_namesake(f, f + 1))
			f->ambiguous = f[1].ambiguous = true;
	err = err ?: plumb_prototypes_read(found, NULL);
	if (err)
		plumb_functions_free(found);
	return err;
}
