// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <plumb/kernel/lists.h>
#include "symbols.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* kallsyms has no sizes: so far does the last symbol of a module reach. */
#define REACH (64 << 10)

/* "ADDRESS TYPE NAME[\t[MODULE]]": is it code whose address is shown? */
static bool read_line(char *line, uint64_t *address, char *type, char **name, char **module)
{
	char *p;

	*address = strtoull(line, &p, 16);
	if (!*address || p[0] != ' ' || !p[1] || !strchr("tTwW", p[1]) || p[2] != ' ')
		return false;
	*type = p[1];
	*name = p + 3;
	line = strstr(*name, "\t[");
	*module = line ? line + 2 : "";
	(*name)[strcspn(*name, "\t\n")] = 0;
	if (line)
		(*module)[strcspn(*module, "]\n")] = 0;
	return true;
}

int plumb_symtab_read_kernel(struct plumb_symtab *t)
{
	char path[4096], *line = NULL, *name, *module, type;
	size_t room = 0;
	uint64_t address;
	int64_t at = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/proc/kallsyms", plumb_functions_root);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (at >= 0 && getline(&line, &room, f) >= 0) {
		if (!read_line(line, &address, &type, &name, &module))
			continue;
		at = plumb_symtab_text(t, name, strlen(name));
		if (at < 0 || plumb_symtab_text(t, module, strlen(module)) < 0 ||
		    plumb_symtab_add(t, address, REACH, at,
				     PLUMB_SYMTAB_UNSIZED | (type == 't' ? PLUMB_SYMTAB_LOCAL : 0)))
			at = -ENOMEM;
	}
	free(line);
	fclose(f);
	return at < 0 ? at : 0;
}
