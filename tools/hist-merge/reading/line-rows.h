/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* line-rows: the rows of a report, and their histograms. */
#ifndef LINE_ROWS_H
#define LINE_ROWS_H

#include "reading/line.h"

/* The value of the member "rows"; the line's precision is known. */
bool line_rows_scan(struct scan *s, struct line *l);

#endif
