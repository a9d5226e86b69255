/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* lines: split a program's output into lines as it arrives.  Long lines are cut. */
#ifndef LINES_H
#define LINES_H

#include <stddef.h>

struct lines {
	void (*each)(const char *line, void *context); /* not called for empty lines */
	void *context;
	size_t n;
	char text[4096];
};

void lines_feed(struct lines *l, const char *data, size_t size);
/* Pass on the rest, which no line end followed. */
void lines_end(struct lines *l);

#endif
