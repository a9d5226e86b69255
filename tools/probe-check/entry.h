/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* entry: has a function of a kernel that does not run a place for ftrace at its entry? */
#ifndef ENTRY_H
#define ENTRY_H

#include "image.h"
#include <stdbool.h>

/* The code from ADDRESS on, SIZE bytes; NULL: it is not there. */
const unsigned char *entry_code(const struct plumb_image *image, uint64_t address, size_t size);

/* False also where there is no such code: see image->n_spans. */
bool entry_is_traceable(const struct plumb_image *image, uint64_t address);

#endif
