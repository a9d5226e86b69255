/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * folded: stacks as text, outermost frame first, frames separated by ';', those of the
 * kernel ending in "_[k]", as flame graphs are made of.
 */
#ifndef PLUMB_FOLDED_H
#define PLUMB_FOLDED_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct plumb_row;

struct plumb_folded {
	char *text;
	uint64_t weight; /* times, bytes or ns: what the graph's width means */
	uint64_t count, max, min;
	const struct plumb_row *row; /* one of those that it is made of; may be NULL */
};

/* Makes one of those that have the same text; sorted by weight, heaviest first.  How many are left.
 */
size_t plumb_folded_merge(struct plumb_folded *stacks, size_t n);

/* "main;read_loop;vfs_read_[k] 123", a line a stack. */
void plumb_folded_print(const struct plumb_folded *stacks, size_t n, FILE *out);

#endif
