/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flame: a flame graph, as one SVG file that needs nothing else to be looked at and searched. */
#ifndef PLUMB_FLAME_H
#define PLUMB_FLAME_H

#include <plumb/report/folded.h>

struct plumb_flame {
	const char *title; /* "offcpu-time on HOST, 10 s" */
	const char *unit;  /* of the weights: "ns" is shown as times, anything else as it is */
};

/* Could PATH be written, as far as can be known before?  0, or -errno after saying why not. */
int plumb_flame_check(const char *path);

/*
 * Writes PATH, or replaces it, all at once: who reads it meanwhile has the old one.  0, or
 * -errno after saying why.
 */
int plumb_flame_write(const char *path, const struct plumb_flame *flame,
		      const struct plumb_tree *tree, const struct plumb_folded *stacks, size_t n);

#endif
