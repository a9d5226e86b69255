/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* target: what a link attaches its program to, as the kernel tells it. */
#ifndef TARGET_H
#define TARGET_H

#include "census.h"

/* Reads kind and misses of the link that FD is of; false: it has gone. */
bool target_read(int fd, struct attachment *a);
/* Also by what and to what it attaches PROGRAM, a function of the kernel maybe by its address. */
void target_describe(int fd, const struct program *program, struct attachment *a);
/* Gives those that have an address and no target the name of the function there. */
void target_name(struct attachment *links, size_t n);

#endif
