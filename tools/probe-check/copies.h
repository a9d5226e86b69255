/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * copies: where a function's body stands in another one's code, as the compiler puts it there
 * when it inlines a call.
 *
 * Other registers and another order do not matter: what is compared is which fields are accessed
 * and how, constants, and what is called.  Only functions near it can be of its own source file,
 * and what has fewer than four such marks is not looked for.  It is evidence and no proof;
 * debugging information is better.  x86_64 only.
 */
#ifndef COPIES_H
#define COPIES_H

#include "image.h"

/* The first function that has such a copy and does not call the one at ADDRESS: TEXT, or NULL. */
const char *copies_find(const struct plumb_image *image, uint64_t address, char *text, size_t size);

#endif
