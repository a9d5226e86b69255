/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <plumb/folded.h>
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b)
{
	const struct plumb_folded *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static int by_weight(const void *a, const void *b)
{
	const struct plumb_folded *x = a, *y = b;

	return x->weight != y->weight ? (x->weight < y->weight) - (x->weight > y->weight)
				      : strcmp(x->text, y->text);
}

size_t plumb_folded_merge(struct plumb_folded *stacks, size_t n)
{
	size_t kept = 0;

	qsort(stacks, n, sizeof(*stacks), by_text);
	for (size_t i = 0; i < n; i++) {
		struct plumb_folded *to = &stacks[kept - 1], *from = &stacks[i];

		if (!kept || strcmp(to->text, from->text)) {
			stacks[kept++] = *from;
			continue;
		}
		to->weight += from->weight;
		to->count += from->count;
		to->max = from->max > to->max ? from->max : to->max;
		to->min = from->min < to->min ? from->min : to->min;
		free(from->text);
	}
	qsort(stacks, kept, sizeof(*stacks), by_weight);
	return kept;
}

void plumb_folded_print(const struct plumb_folded *stacks, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s %llu\n", stacks[i].text, (unsigned long long)stacks[i].weight);
}
