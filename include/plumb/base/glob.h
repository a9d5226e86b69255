/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* glob: patterns of names, from text. */
#ifndef PLUMB_GLOB_H
#define PLUMB_GLOB_H

#include <plumb/bpf/core/glob.h>

/*
 * Adds PATTERN: * ? [...], \ before any of them, \xHH for a byte; its letters are bytes.
 * 1: it has none of these but bytes, and is NAME, not added; 0: added; -ENAMETOOLONG: it
 * matches no name; -E2BIG: all together are too long.
 */
int plumb_globs_add(struct plumb_globs *g, const char *pattern, char name[PLUMB_COMM_LEN]);

#endif
