/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * grid: a table of words, each column as wide as what is in it.
 *
 * It is filled cell by cell, row by row.  Its last column is wrapped between words
 * where a line would be wider than a terminal of 80 columns; no line ends with blanks.
 */
#ifndef PLUMB_GRID_H
#define PLUMB_GRID_H

#include <stddef.h>
#include <stdio.h>

struct plumb_grid;

/* HEADINGS is a list of N; one that begins with '>' is of a column of figures, to the right. */
struct plumb_grid *plumb_grid_new(const char *const *headings, size_t n);

/* The next cell.  Control characters in it are printed as '?'. */
void plumb_grid_cell(struct plumb_grid *g, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints it, without headings if there are no rows: nothing. */
void plumb_grid_print(const struct plumb_grid *g, FILE *out);
void plumb_grid_free(struct plumb_grid *g);

#endif
