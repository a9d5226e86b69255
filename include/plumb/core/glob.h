/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* glob: compiles the patterns of bpf/core/glob.h from text. */
#pragma once

#include <plumb/bpf/core/glob.h>

/*
 * Adds PATTERN, which may contain * ? [...], these escaped with \, and \xHH for a byte.  It is
 * matched byte by byte.  Returns 0 if it was added; 1 if it has no wildcard: then it is not added,
 * and NAME is the name; -ENAMETOOLONG if no name can match it; -E2BIG if all patterns together are
 * too long.
 */
int plumb_globs_add(struct plumb_globs *g, const char *pattern, char name[PLUMB_COMM_LEN]);
