/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flame-svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/file.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/pictures/picture.h>

/* --- the stacks of an earlier run --- */

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

/* --- frames --- */

static struct flame_frame *frame_new(const char *name, bool is_kernel, uint32_t node)
{
	struct flame_frame *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->is_kernel = is_kernel;
	f->node = node;
	f->name = strdup(name);
	if (!f->name)
		abort();
	return f;
}

static void frame_free(struct flame_frame *f)
{
	for (size_t i = 0; i < f->n; i++)
		frame_free(f->called[i]);
	free(f->called);
	free(f->name);
	free(f);
}

static void frame_add(struct flame_frame *f, struct flame_frame *called)
{
	/* The capacity is a power of two, and is doubled when it is full. */
	if (!(f->n & (f->n - 1))) {
		f->called = reallocarray(f->called, f->n ? 2 * f->n : 1, sizeof(*f->called));
		if (!f->called)
			abort();
	}
	f->called[f->n++] = called;
}

static int by_name(const void *a, const void *b, void *tree)
{
	return plumb_tree_compare(tree, (*(struct flame_frame *const *)a)->node,
				  (*(struct flame_frame *const *)b)->node);
}

static void sort(struct flame_frame *f, const struct plumb_tree *t)
{
	if (f->n)
		qsort_r(f->called, f->n, sizeof(*f->called), by_name, (void *)t);
	for (size_t i = 0; i < f->n; i++)
		sort(f->called[i], t);
}

/* Sums the weights, or COUNTS, of each node and all nodes below it. */
static void add_up(uint64_t *sums, const struct plumb_tree *t, const struct plumb_folded *stacks,
		   size_t n, bool counts)
{
	memset(sums, 0, (t->n_nodes ?: 1) * sizeof(*sums));
	for (size_t i = 0; i < n; i++)
		sums[stacks[i].leaf] += counts ? stacks[i].count : stacks[i].weight;
	/* Callers have lower numbers. */
	for (uint32_t i = t->n_nodes; i-- > 1;)
		sums[t->nodes[i].caller] += sums[i];
}

/* Makes frames, but only of nodes whose callers are drawn, which are few even of many stacks. */
static struct flame_frame *grow(struct flame_graph *g, const struct plumb_tree *t,
				const struct plumb_folded *stacks, size_t n)
{
	const struct plumb_flame *flame = g->flame;
	const uint32_t n_nodes = t->n_nodes ?: 1;
	uint64_t *sums = calloc(n_nodes, sizeof(*sums));
	struct flame_frame **of = calloc(n_nodes, sizeof(*of)), *root; /* by node; NULL: none */

	if (!sums || !of)
		abort();
	add_up(sums, t, stacks, n, false);
	root = of[0] = frame_new("all", false, 0);
	root->weight = sums[0];
	for (uint32_t i = 1; i < n_nodes; i++) {
		struct flame_frame *caller = of[t->nodes[i].caller];

		/* The tree may have nodes of stacks other than these. */
		if (!sums[i] || !caller || !flame_is_seen(root, caller->weight))
			continue;
		of[i] = frame_new(plumb_tree_name(t, i)->text, plumb_tree_name(t, i)->is_kernel, i);
		of[i]->weight = sums[i];
		frame_add(caller, of[i]);
	}
	for (size_t i = 0; i < flame->n_before; i++)
		if (!sums[flame->before[i].leaf])
			g->gone += flame->before[i].weight;
	add_up(sums, t, stacks, n, true);
	for (uint32_t i = 0; i < n_nodes; i++)
		if (of[i])
			of[i]->count = sums[i];
	add_up(sums, t, flame->before, flame->n_before, false);
	for (uint32_t i = 0; i < n_nodes; i++)
		if (of[i])
			of[i]->before = sums[i];
	free(of);
	free(sums);
	sort(root, t);
	return root;
}

static void measure(struct flame_graph *g, const struct flame_frame *f, size_t depth)
{
	if (!flame_is_seen(g->all, f->weight)) {
		g->hidden++;
		return;
	}
	if (depth > g->depth)
		g->depth = depth;
	if (fabs(flame_change(g, f)) > g->most)
		g->most = fabs(flame_change(g, f));
	for (size_t i = 0; i < f->n; i++)
		measure(g, f->called[i], depth + 1);
}

static struct plumb_picture_file file = {.option = "--flame"};

int plumb_flame_check(const char *path, bool only_words)
{
	file.path = path;
	return plumb_picture_check(&file, only_words);
}

static int draw(void *context, FILE *out)
{
	struct flame_graph *g = context;

	g->out = out;
	plumb_flame_draw(g);
	return 0;
}

int plumb_flame_write(const char *path, const struct plumb_flame *flame,
		      const struct plumb_tree *tree, const struct plumb_folded *stacks, size_t n)
{
	struct flame_graph g = {.flame = flame};
	int err;

	g.all = grow(&g, tree, stacks, n);
	measure(&g, g.all, 0);
	file.path = path;
	err = plumb_picture_save(&file, draw, &g);
	frame_free(g.all);
	return err;
}
