// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <plumb/kernel/lists.h>
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

int plumb_symtab_read_kernel(struct plumb_symtab *t)
{
	struct plumb_symbol symbol;
	char path[4096], *line = NULL;
	size_t room = 0;
	int err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/kallsyms", plumb_functions_root);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!err && getline(&line, &room, f) >= 0) {
		line[strcspn(line, "\n")] = 0;
		/* Address 0: hidden (kernel.kptr_restrict). */
		if (plumb_symbol_cut(line, &symbol) && symbol.address)
			err = add(t, &symbol);
	}
	free(line);
	fclose(f);
	return err;
}
