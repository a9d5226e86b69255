/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Declarations that flame.c (makes frames of stacks) and flame-svg.c (draws them) share. */
#pragma once

#include "stacks.h"
#include <plumb/pictures/picture.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FLAME_NARROWEST 0.1 /* pixels; narrower frames are not drawn */

/* A function and the functions that it called, sorted by name. */
struct flame_frame {
	char *name;
	uint32_t node;
	bool is_kernel;
	uint64_t weight, count, before;
	struct flame_frame **called;
	size_t n;
};

struct flame_graph {
	const struct plumb_flame *flame;
	struct flame_frame *all;
	size_t depth;  /* of the deepest frame that is drawn */
	size_t hidden; /* frames that are too narrow */
	double most;   /* the largest change of a share since before */
	uint64_t gone; /* weight before of stacks that are not drawn any more */
	FILE *out;
};

static inline bool flame_is_seen(const struct flame_frame *all, uint64_t weight)
{
	return all->weight && (double)weight / all->weight * SVG_WIDTH >= FLAME_NARROWEST;
}

/* How much larger the share of a frame is than before: -1 to 1. */
static inline double flame_change(const struct flame_graph *g, const struct flame_frame *f)
{
	return g->all->weight && g->all->before
		       ? (double)f->weight / g->all->weight - (double)f->before / g->all->before
		       : 0;
}

void plumb_flame_draw(const struct flame_graph *g);
