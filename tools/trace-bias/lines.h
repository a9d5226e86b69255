/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lines: a program's output, line by line, as it comes.  Of a long line, the beginning. */
#ifndef LINES_H
#define LINES_H

#include <stddef.h>

struct lines {
	void (*each)(const char *line, void *context); /* not those that are empty */
	void *context;
	size_t n;
	char text[4096];
};

void lines_feed(struct lines *l, const char *data, size_t size);
/* What no line's end came after. */
void lines_end(struct lines *l);

#endif
