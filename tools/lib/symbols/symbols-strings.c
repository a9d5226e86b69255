// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Storage of strings, each once; and the files whose symbols cannot be read. */
#include "symbols.h"
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char *plumb_symbolizer_string(struct plumb_symbolizer *s, const char *text)
{
	char clean[PLUMB_SYMBOL_NAME], **found, *copy;

	plumb_escape(clean, text, sizeof(clean));
	found = tfind(clean, &s->strings, by_text);
	if (found)
		return *found;
	copy = strdup(clean);
	if (copy && !tsearch(copy, &s->strings, by_text)) {
		free(copy);
		copy = NULL;
	}
	return copy;
}

/* Adds PATH to the files that are not read; NULL: it is there, or no memory. */
static const char *add_unread(struct plumb_symbolizer *s, const char *path)
{
	const char *name = plumb_symbolizer_string(s, path);

	if (!name || tfind(name, &s->unread, by_text) || !tsearch(name, &s->unread, by_text))
		return NULL;
	return name;
}

void plumb_symbolizer_unread(struct plumb_symbolizer *s, const char *path, const char *why)
{
	const char *name = add_unread(s, path);

	if (name && !s->counts.unread++)
		plumb_info("a file whose symbols cannot be read: %s: %s", name, why);
}

void plumb_symbolizer_foreign(struct plumb_symbolizer *s, const char *path, const char *why)
{
	const char *name = add_unread(s, path);

	if (name && !s->counts.foreign++)
		plumb_warn("symbols are not read from %s: it %s", name, why);
}

static void keep(void *string)
{
	(void)string;
}

void plumb_symbolizer_free_strings(struct plumb_symbolizer *s)
{
	tdestroy(s->unread, keep);
	tdestroy(s->strings, free);
}
