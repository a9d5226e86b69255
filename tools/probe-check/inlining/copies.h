/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * copies: find copies of a function's body in other functions, as the compiler makes them when it
 * inlines a call.
 *
 * Registers and the order of instructions are ignored.  What is compared are marks: accesses to
 * fields, constants and call targets.  Only nearby functions are searched, since they may be from
 * the same source file.  A function with fewer than four different marks is not searched for.  A
 * copy that is found is evidence and no proof; debugging information is more reliable.  x86_64
 * only.
 */
#pragma once

#include "image/image.h"
#include <plumb/functions/lists.h>

/*
 * The name of the first function that has such a copy of the function at ADDRESS and does not call
 * it; NULL: there is none.
 */
const char *copies_find(const struct plumb_image *image, const struct plumb_symbols *symbols,
			uint64_t address);
