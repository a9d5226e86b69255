/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sort: --sort, by which rows of a result are in order. */
#ifndef SORT_H
#define SORT_H

#include "results/read.h"

/* Sorts rows that are in the default order, highest first. */
void sort_rows(const struct reading *r, struct merged_row **rows, size_t n);

#endif
