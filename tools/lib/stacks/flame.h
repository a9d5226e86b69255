/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flame: a flame graph as one self-contained SVG file with zoom and search. */
#ifndef PLUMB_FLAME_H
#define PLUMB_FLAME_H

#include "folded.h"

struct plumb_report;

struct plumb_flame {
	const char *about; /* "10 s; the width of a frame is its share of the time" */
	const struct plumb_report *report; /* for the caption; NULL: there is none */
	/* Another run, whose stacks are in the same tree: frames are coloured by changes since. */
	const struct plumb_folded *before;
	size_t n_before;
	const char *unit; /* of the weights: "ns" is shown as times, anything else as it is */
};

/*
 * Checks before the trace that PATH can be written, as far as possible.  0, or -errno after a
 * message.
 */
int plumb_flame_check(const char *path, bool only_words);

/* Writes or replaces PATH atomically (atomic-file.h).  0, or -errno after a message. */
int plumb_flame_write(const char *path, const struct plumb_flame *flame,
		      const struct plumb_tree *tree, const struct plumb_folded *stacks, size_t n);

#endif
