/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "lines.h"

void lines_end(struct lines *l)
{
	l->text[l->n] = 0;
	if (l->n)
		l->each(l->text, l->context);
	l->n = 0;
}

void lines_feed(struct lines *l, const char *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		/* Programs that show progress overwrite their line after a carriage return. */
		if (data[i] == '\n' || data[i] == '\r')
			lines_end(l);
		else if (l->n + 1 < sizeof(l->text))
			l->text[l->n++] = data[i];
	}
}
