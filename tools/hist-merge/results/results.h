/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* results: what has been read, as results for read.h's EACH. */
#pragma once

#include "results/read.h"

/*
 * The rows with windows before END, by window, then in the order of --sort, then falling count; a
 * malloc'd array.
 */
struct merged_row **results_rows(const struct reading *r, uint64_t end, size_t *n);
/* The result of all reports.  0 or what EACH returns. */
int results_all(const struct reading *r, int (*each)(const struct result *result));
/* The results of windows before END, also of those without rows; their rows are dropped. */
int results_until(struct reading *r, uint64_t end, bool final,
		  int (*each)(const struct result *result));
