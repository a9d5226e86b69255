// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <plumb/functions/lists.h>
#include "symbols.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* kallsyms has no sizes: a symbol reaches to the next one, at most this far. */
#define REACH (64 << 10)

static int add(struct plumb_symtab *t, const struct plumb_symbol *symbol)
{
	const char *module = symbol->module ?: "";
	int64_t at = plumb_symtab_text(t, symbol->name, strlen(symbol->name));

	if (at < 0)
		return at;
	if (plumb_symtab_text(t, module, strlen(module)) < 0 ||
	    plumb_symtab_add(t, symbol->address, REACH, at,
			     PLUMB_SYMTAB_UNSIZED | (symbol->type == 't' ? PLUMB_SYMTAB_LOCAL : 0)))
		return -ENOMEM;
	return 0;
}

/* Opens a list of the kernel, which is as the opener may see it, whoever reads it. */
FILE *plumb_kernel_list(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/proc/%s", plumb_functions_root, name);
	return fopen(path, "re");
}

/* A module: the entries from FIRST on.  Its last symbols end in the page after theirs. */
static void end_module(struct plumb_symtab *t, size_t first)
{
	uint64_t last = 0, reach;

	for (size_t i = first; i < t->n; i++)
		last = t->all[i].address > last ? t->all[i].address : last;
	reach = (last | 4095) + 4097 - last;
	for (size_t i = first; i < t->n; i++)
		if (t->all[i].address == last)
			t->all[i].size = reach;
}

int plumb_symtab_read_kernel(struct plumb_symtab *t, FILE *f)
{
	char module[64] = "", *line = NULL;
	size_t room = 0, first = 0;
	struct plumb_symbol symbol;
	int err = 0;

	rewind(f);
	while (!err && getline(&line, &room, f) >= 0) {
		line[strcspn(line, "\n")] = 0;
		/* Address 0: hidden (kernel.kptr_restrict). */
		if (!plumb_symbol_cut(line, &symbol) || !symbol.address)
			continue;
		if (strcmp(module, symbol.module ?: "")) {
			if (*module)
				end_module(t, first);
			first = t->n;
			snprintf(module, sizeof(module), "%s", symbol.module ?: "");
		}
		err = add(t, &symbol);
	}
	if (*module)
		end_module(t, first);
	free(line);
	return err;
}

uint64_t plumb_kernel_modules(FILE *f)
{
	char line[4096], name[64 + 32], address[32];
	uint64_t mix = 0;

	rewind(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %*s %*s %*s %*s %31s", name, address) == 2)
			for (const char *p = strcat(name, address); *p; p++)
				mix = (mix ^ (unsigned char)*p) * 0x9e3779b97f4a7c15ULL;
	return mix;
}
