/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flame-base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>

#define MOST (16 << 20) /* bytes of the file, which is not trusted */

/* Lines of the file, each with a NUL after the stack. */
static struct {
	char **stacks;
	uint64_t *weights;
	size_t n;
} base;

static void add_line(char *stack, uint64_t weight)
{
	/* The capacity is a power of two, and is doubled when it is full. */
	if (!(base.n & (base.n - 1))) {
		size_t room = base.n ? 2 * base.n : 1;

		base.stacks = reallocarray(base.stacks, room, sizeof(*base.stacks));
		base.weights = reallocarray(base.weights, room, sizeof(*base.weights));
		if (!base.stacks || !base.weights)
			abort();
	}
	base.stacks[base.n] = stack;
	base.weights[base.n++] = weight;
}

/* Returns what is wrong with LINE; NULL: nothing. */
static const char *read_line(char *line, uint64_t *sum)
{
	char *space = strrchr(line, ' ');
	uint64_t weight;

	if (!space || space == line)
		return "not frames, a space and a weight";
	if (plumb_parse_u64(space + 1, 0, INT64_MAX, &weight))
		return "the weight is not a number";
	if (weight > INT64_MAX - *sum)
		return "the sum of weights is too large";
	*sum += weight;
	*space = 0;
	add_line(line, weight);
	return NULL;
}

int plumb_flame_base_read(const char *path)
{
	size_t size, number = 0;
	char *text = plumb_file_read("--diff", path, MOST, &size), *end;
	const char *wrong = NULL;
	uint64_t sum = 0;

	if (!text)
		return -EINVAL;
	for (char *line = text; line < text + size && !wrong; line = end + 1) {
		number++;
		end = memchr(line, '\n', text + size - line) ?: text + size;
		*end = 0;
		if (strlen(line) < (size_t)(end - line))
			wrong = "it has a NUL";
		else if (*line)
			wrong = read_line(line, &sum);
	}
	if (wrong)
		return plumb_error(EINVAL, "--diff: %s, line %zu: %s", path, number, wrong);
	if (!sum)
		return plumb_error(EINVAL, "--diff: %s: no stacks, as --folded prints them", path);
	return 0;
}

struct plumb_folded *plumb_flame_base_add(struct plumb_tree *t, size_t *n)
{
	struct plumb_folded *all = calloc(base.n ?: 1, sizeof(*all));

	if (!all)
		abort();
	for (size_t i = 0; i < base.n; i++)
		all[i] = (struct plumb_folded){
			.leaf = plumb_tree_parse(t, base.stacks[i]),
			.weight = base.weights[i],
		};
	*n = base.n;
	return all;
}
