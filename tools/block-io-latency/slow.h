/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* slow: prints single requests, one line each, in the order in which they ended. */
#ifndef BLOCK_SLOW_H
#define BLOCK_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void slow_begin(bool json);

/* The callbacks of struct plumb_ring. */
int slow_add(const void *record, size_t size);
int slow_print(bool all, uint64_t *again);

/* Says so if no request took MIN_NS or longer. */
void slow_print_none(uint64_t min_ns, FILE *out);

#endif
