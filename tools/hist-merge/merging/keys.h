/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* keys: the keys of rows, and what --by leaves of them. */
#pragma once

#include "merging/merge.h"

/* The row of calls whose key has none. */
#define KEYS_OTHER "{\"other\":true}"

/* Whether reports have this key. */
bool keys_known(const char *name);
/* All of them, for -b help. */
void keys_list(FILE *out);

/*
 * The key that a row of L has in the result, malloc'd; NULL: *ERROR.  Sorted members make equal
 * keys equal text.  *NAMES is the same for keys with the same members as KEY, 0 for KEYS_OTHER.
 */
char *keys_of(const struct merge_by *by, const struct line *l, struct span key, uint64_t *names,
	      const char **error);
