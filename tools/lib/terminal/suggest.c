/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/terminal/suggest.h>

#define MOST 3

/* Whether it begins with all of NAME, of some letters: then it is as near as one wrong letter. */
static bool continues(const char *name, const char *other)
{
	size_t n = strlen(name);

	return n > 3 && !strncmp(name, other, n) && other[n];
}

/*
 * The Levenshtein distance, but swapped neighbours are one error and not two.  Names longer than a
 * row have the maximum distance.
 */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][64] = {}, *row = rows[0], *above = rows[1], *top = rows[2], *reused;
	unsigned int n = strlen(b), d;

	if (n >= sizeof(rows[0]) / sizeof(rows[0][0]))
		return ~0U;
	if (continues(a, b))
		return 1;
	for (unsigned int j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned int i = 1; a[i - 1]; i++) {
		reused = top;
		top = above;
		above = row;
		row = reused;
		row[0] = i;
		for (unsigned int j = 1; j <= n; j++) {
			d = above[j - 1] + (a[i - 1] != b[j - 1]);
			if (above[j] + 1 < d)
				d = above[j] + 1;
			if (row[j - 1] + 1 < d)
				d = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    top[j - 2] + 1 < d)
				d = top[j - 2] + 1;
			row[j] = d;
		}
	}
	return row[n];
}

const char *plumb_nearest(const char *name, const char *const *names, size_t n)
{
	/* The limit is about a third of the letters; more is not a typing error. */
	long length = strlen(name);
	unsigned int best = length / 3 + 2, d;
	const char *nearest = NULL;

	for (size_t i = 0; i < n; i++) {
		/* At least the difference of lengths is wrong: skips most of 100,000 names. */
		if (!names[i] || (!continues(name, names[i]) &&
				  labs((long)strlen(names[i]) - length) >= (long)best))
			continue;
		d = distance(name, names[i]);
		if (d < best) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}

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
