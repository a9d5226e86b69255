/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* suggest: similar names, for the end of an error message. */
#pragma once

#include <stddef.h>

/*
 * The entry of NAMES[0..n) with the smallest edit distance to NAME, or NULL if none is similar
 * enough to suggest.  NULL entries are skipped.
 */
const char *plumb_nearest(const char *name, const char *const *names, size_t n);

/*
 * Writes "; did you mean A, B or C", with up to three of NAMES[0..n) that are similar to NAME
 * (plumb_nearest), the most similar first, or "".  Returns TEXT.
 */
const char *plumb_suggest(const char *name, const char *const *names, size_t n, char *text,
			  size_t size);
