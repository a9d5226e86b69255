/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/parse.h>
#include <plumb/outputs/ladder.h>

#define RUNGS   4 /* of an octave */
#define HIGHEST ((1ULL << PLUMB_HIST_RANGE_BITS) - 1)

/* Rung I, from 0: below 4, 5, 6, 7, 8, 10, 12, ... */
static uint64_t rung(size_t i)
{
	return ((RUNGS + i % RUNGS) << i / RUNGS) - 1;
}

void plumb_ladder_fill(struct plumb_ladder *l, uint64_t low, uint64_t high)
{
	size_t i = 0;

	while (rung(i + 1) <= low)
		i++;
	l->n = 0;
	do
		l->bounds[l->n++] = rung(i);
	while (rung(i++) < high && l->n < PLUMB_MAX_BOUNDS);
}

void plumb_ladder_of_times(struct plumb_ladder *l)
{
	plumb_ladder_fill(l, (1ULL << 10) - 1, (1ULL << 36) - 1);
}

void plumb_ladder_of_sizes(struct plumb_ladder *l)
{
	plumb_ladder_fill(l, (1 << 6) - 1, (1 << 20) - 1);
}

static int parse_value(const char *text, bool sizes, uint64_t *value)
{
	return sizes ? plumb_parse_size(text, 1, HIGHEST, value)
		     : plumb_parse_duration(text, 1, HIGHEST, value);
}

struct parsing {
	struct plumb_ladder *l;
	bool sizes;
};

static int add(const char *item, void *context)
{
	const struct parsing *p = context;
	struct plumb_ladder *l = p->l;
	uint64_t value;

	if (l->n == PLUMB_MAX_BOUNDS || parse_value(item, p->sizes, &value) ||
	    (l->n && value <= l->bounds[l->n - 1]))
		return -EINVAL;
	l->bounds[l->n++] = value;
	return 0;
}

int plumb_ladder_parse(struct plumb_ladder *l, const char *text, bool sizes)
{
	const char *colon = strchr(text, ':');
	struct parsing p = {l, sizes};
	uint64_t low, high;
	char *first;
	int err;

	l->n = 0;
	if (!colon)
		return plumb_parse_list(text, add, &p) ? -EINVAL : 0;
	first = strndup(text, colon - text);
	err = !first || parse_value(first, sizes, &low) || parse_value(colon + 1, sizes, &high) ||
	      low >= high;
	free(first);
	if (err)
		return -EINVAL;
	plumb_ladder_fill(l, low, high);
	return 0;
}

size_t plumb_ladder_index(const struct plumb_ladder *l, uint64_t value)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->bounds[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
