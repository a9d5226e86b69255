/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* print: the points that were taken, as lines, as a summary, as JSON. */
#ifndef PRINT_H
#define PRINT_H

#include "points.h"

/* A line a point; with ARGUMENTS more lines that have them.  Ends where stdout does. */
void print_lines(struct points *p, bool arguments);

/* A row for each hook of the families in WANTED, or of all. */
void print_summary(const struct points *p, unsigned int wanted);

/* One object; it has no points with SUMMARY. */
void print_json(struct points *p, unsigned int wanted, bool summary);

#endif
