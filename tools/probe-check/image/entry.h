/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* entry: whether a function in a kernel image has an ftrace call site at its entry. */
#ifndef ENTRY_H
#define ENTRY_H

#include "image/image.h"
#include <stdbool.h>

/* The SIZE bytes of code at ADDRESS; NULL: the image does not have them. */
const unsigned char *entry_code(const struct plumb_image *image, uint64_t address, size_t size);

/* Also false if the image does not have the function's code: see image->n_spans. */
bool entry_is_traceable(const struct plumb_image *image, uint64_t address);

#endif
