/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* print: the targets that were taken, as lines, as a summary, as JSON. */
#ifndef PRINT_H
#define PRINT_H

#include "targets.h"

/* A line a target; with ARGUMENTS more lines that have them.  Ends where stdout does. */
void print_lines(struct targets *p, bool arguments);

/* A row for each hook of the kinds in WANTED, or of all. */
void print_summary(const struct targets *p, unsigned int wanted);

/* One object; it has no targets with SUMMARY. */
void print_json(struct targets *p, unsigned int wanted, bool summary);

#endif
