/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* flame base: the folded stacks of an earlier run, with which a flame graph is compared. */
#ifndef FLAME_BASE_H
#define FLAME_BASE_H

#include "folded.h"

/* Reads and checks the lines "frames weight" of --diff.  0, or -errno after a message. */
int plumb_flame_base_read(const char *path);
/* Adds the stacks that were read to T; returns them (malloc'd), and their number. */
struct plumb_folded *plumb_flame_base_add(struct plumb_tree *t, size_t *n);

#endif
