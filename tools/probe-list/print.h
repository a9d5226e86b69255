/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* print: the taken targets as lines, as a summary, or as JSON. */
#pragma once

#include "targets.h"

/* Print a line per target; with ARGUMENTS add lines for its arguments.  Stop at a write error. */
void print_lines(struct targets *p, bool arguments);

/* Print a row for each hook of the kinds in WANTED. */
void print_summary(const struct targets *p, unsigned int wanted);

/* Print one object; with SUMMARY it has no targets. */
void print_json(struct targets *p, unsigned int wanted, bool summary);
