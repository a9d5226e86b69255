/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* target: what a link attaches its program to, as the kernel reports it. */
#ifndef TARGET_H
#define TARGET_H

#include "census.h"

/* Read kind and misses of the link with descriptor FD; false: the kernel does not report it. */
bool target_read(int fd, struct attachment *a);
/* Add how and to what it attaches PROGRAM; of a kernel function perhaps only the address. */
void target_describe(int fd, const struct program *program, struct attachment *a);
/* Set the target of links that have only an address to the name of the function there. */
void target_name(struct attachment *links, size_t n);

#endif
