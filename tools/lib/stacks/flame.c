/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "flame-svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/pictures/picture-file.h>

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

/* The nodes that have a frame, by number. */
struct framed {
	struct flame_frame **all;
	size_t n, room;
};

static void framed_add(struct framed *framed, struct flame_frame *f)
{
	if (framed->n == framed->room) {
		framed->room = 2 * framed->room ?: 1024;
		framed->all = reallocarray(framed->all, framed->room, sizeof(*framed->all));
		if (!framed->all)
			abort();
	}
	framed->all[framed->n++] = f;
}

static int by_node(const void *node, const void *frame)
{
	const struct flame_frame *f = *(struct flame_frame *const *)frame;

	return (*(const uint32_t *)node > f->node) - (*(const uint32_t *)node < f->node);
}

/* Makes frames, but only of nodes whose callers are drawn, which are few even of many stacks. */
static struct flame_frame *grow(struct flame_graph *g, const struct plumb_tree *t,
				const struct plumb_folded *stacks, size_t n)
{
	const struct plumb_flame *flame = g->flame;

	uint64_t *sums = calloc(t->n_nodes ?: 1, sizeof(*sums));
	struct flame_frame *root = frame_new("all", false, 0), *f, **caller;
	struct framed framed = {};

	if (!sums)
		abort();
	add_up(sums, t, stacks, n, false);
	root->weight = sums[0];
	framed_add(&framed, root);
	for (uint32_t i = 1; i < t->n_nodes; i++) {
		/* The tree may have nodes of stacks other than these. */
		if (!sums[i] || !flame_is_seen(root, sums[t->nodes[i].caller]))
			continue;
		caller = bsearch(&t->nodes[i].caller, framed.all, framed.n, sizeof(*framed.all),
				 by_node);
		if (!caller)
			continue;
		f = frame_new(plumb_tree_name(t, i)->text, plumb_tree_name(t, i)->is_kernel, i);
		f->weight = sums[i];
		frame_add(*caller, f);
		framed_add(&framed, f);
	}
	add_up(sums, t, stacks, n, true);
	for (size_t i = 0; i < framed.n; i++)
		framed.all[i]->count = sums[framed.all[i]->node];
	for (size_t i = 0; i < flame->n_before; i++)
		g->gone += flame->before[i].weight;
	add_up(sums, t, stacks, n, false);
	for (size_t i = 0; i < flame->n_before; i++)
		if (sums[flame->before[i].leaf])
			g->gone -= flame->before[i].weight;
	add_up(sums, t, flame->before, flame->n_before, false);
	for (size_t i = 0; i < framed.n; i++)
		framed.all[i]->before = sums[framed.all[i]->node];
	free(framed.all);
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
