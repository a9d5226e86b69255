/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * arguments: match a function's old arguments with its new ones, in their order, so that as
 * much as possible is matched (the longest common subsequence, by weight).
 */
#include "compare/compare.h"

#include <string.h>

#define MOST 64 /* arguments; further ones are ignored */

struct lists {
	const json_t *was, *was_types, *is, *is_types;
	size_t n_was, n_is;
};

static const char *nth(const json_t *list, size_t i)
{
	return json_string_value(json_array_get(list, i)) ?: "";
}

/* The length of a qualifier, with its blank, at the start of TEXT; 0: none. */
static size_t qualifier(const char *text)
{
	static const char *const words[] = {"const", "volatile"};
	size_t length;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		length = strlen(words[i]);
		if (!strncmp(text, words[i], length) && strchr(" *", text[length]))
			return length + (text[length] == ' ');
	}
	return 0;
}

bool compare_types_agree(const char *was, const char *is)
{
	for (;; was++, is++) {
		while (qualifier(was))
			was += qualifier(was);
		while (qualifier(is))
			is += qualifier(is);
		if (*was != *is)
			return false;
		if (!*was)
			return true;
	}
}

/* The weight of matching old argument I with new J; 0: they do not match. */
static unsigned int worth(const struct lists *l, size_t i, size_t j)
{
	if (!strcmp(nth(l->was, i), nth(l->is, j)))
		return 3;
	return compare_types_agree(nth(l->was_types, i), nth(l->is_types, j)) ? 2 : 0;
}

/* best[i][j]: the largest weight of old arguments from I on and new ones from J on. */
static void find_best(const struct lists *l, unsigned char best[MOST + 1][MOST + 1])
{
	unsigned int kept, here;

	memset(best, 0, sizeof(unsigned char[MOST + 1][MOST + 1]));
	for (size_t i = l->n_was; i--;)
		for (size_t j = l->n_is; j--;) {
			here = best[i + 1][j] > best[i][j + 1] ? best[i + 1][j] : best[i][j + 1];
			kept = worth(l, i, j);
			if (kept && best[i + 1][j + 1] + kept > here)
				here = best[i + 1][j + 1] + kept;
			best[i][j] = here;
		}
}

/* Report what is between two matches: old arguments I to I_END, new ones J to J_END. */
static void tell_gap(const struct comparison *c, const struct lists *l, size_t i, size_t i_end,
		     size_t j, size_t j_end)
{
	for (; i < i_end && j < j_end; i++, j++)
		compare_tell(c, DIFFERENCE_BREAKING, "argument %zu was %s, is %s", i,
			     nth(l->was, i), nth(l->is, j));
	for (; i < i_end; i++)
		compare_tell(c, DIFFERENCE_BREAKING, "argument %zu, %s, is gone", i,
			     nth(l->was, i));
	/* New arguments at the end do not move any other. */
	for (; j < j_end; j++)
		compare_tell(c, j_end == l->n_is ? DIFFERENCE_ADDED : DIFFERENCE_BREAKING,
			     "argument %zu is new: %s", j, nth(l->is, j));
}

static size_t count(const json_t *list)
{
	return json_array_size(list) < MOST ? json_array_size(list) : MOST;
}

void compare_arguments(const struct comparison *c, const json_t *was, const json_t *was_types,
		       const json_t *is, const json_t *is_types)
{
	struct lists l = {was, was_types ?: was, is, is_types ?: is, count(was), count(is)};
	unsigned char best[MOST + 1][MOST + 1];
	size_t i = 0, j = 0, from_i = 0, from_j = 0;

	find_best(&l, best);
	while (i < l.n_was && j < l.n_is) {
		if (worth(&l, i, j) && best[i][j] == best[i + 1][j + 1] + worth(&l, i, j)) {
			tell_gap(c, &l, from_i, i, from_j, j);
			if (strcmp(nth(was, i), nth(is, j)))
				compare_tell(c, DIFFERENCE_NOISE, "argument %zu was %s, is %s", i,
					     nth(was, i), nth(is, j));
			from_i = ++i;
			from_j = ++j;
		} else if (best[i][j] == best[i + 1][j]) {
			i++;
		} else {
			j++;
		}
	}
	tell_gap(c, &l, from_i, l.n_was, from_j, l.n_is);
}
