/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What flame.c, which makes frames of stacks, and flame-svg.c, which draws them, share. */
#ifndef FLAME_SVG_H
#define FLAME_SVG_H

#include "flame.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Pixels. */
#define FLAME_WIDTH     1200
#define FLAME_NARROWEST 0.1 /* frames that are narrower cannot be seen */

/* A function, with all that it called, by name. */
struct flame_frame {
	char *name;
	uint32_t node;
	bool is_kernel;
	uint64_t weight, count;
	struct flame_frame **called;
	size_t n;
};

struct flame_graph {
	const struct plumb_flame *flame;
	struct flame_frame *all;
	size_t depth;  /* of the deepest frame that can be seen */
	size_t hidden; /* frames that are too narrow */
	FILE *out;
};

static inline bool flame_is_seen(const struct flame_frame *all, uint64_t weight)
{
	return all->weight && (double)weight / all->weight * FLAME_WIDTH >= FLAME_NARROWEST;
}

/* Replaces what is no character in XML by '?'; returns TEXT. */
char *plumb_flame_clean(char *text);

void plumb_flame_draw(const struct flame_graph *g);

#endif
