/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * text table: a table whose columns are as wide as their widest cells.
 *
 * It is filled cell by cell, row by row.  Its last column is wrapped between words
 * where a line would be wider than a terminal of 80 columns; no line ends with blanks.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct plumb_text_table;

/* HEADINGS has N names; a heading with the prefix '>' aligns its column to the right. */
struct plumb_text_table *plumb_text_table_new(const char *const *headings, size_t n);

/* The next cell.  Bytes in it that are not printable are printed as \xHH. */
void plumb_text_table_cell(struct plumb_text_table *g, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints the table; without rows, nothing. */
void plumb_text_table_print(const struct plumb_text_table *g, FILE *out);
void plumb_text_table_free(struct plumb_text_table *g);
