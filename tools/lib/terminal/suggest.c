/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/terminal/suggest.h>
#include <plumb/core/parse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 3

const char *plumb_suggest(const char *name, const char *const *names, size_t n, char *text,
			  size_t size)
{
	const char **left = malloc(n * sizeof(*left)), *found[MOST];
	size_t n_found = 0, length;

	*text = 0;
	if (!left)
		return text;
	memcpy(left, names, n * sizeof(*left));
	while (n_found < MOST && (found[n_found] = plumb_nearest(name, left, n))) {
		for (size_t i = 0; i < n; i++)
			if (left[i] && !strcmp(left[i], found[n_found]))
				left[i] = NULL;
		n_found++;
	}
	free(left);
	for (size_t i = 0; i < n_found; i++) {
		length = strlen(text);
		snprintf(text + length, size - length, "%s%s",
			 !i                ? "; did you mean "
			 : i + 1 < n_found ? ", "
					   : " or ",
			 found[i]);
	}
	return text;
}
