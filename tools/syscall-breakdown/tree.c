/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tree.h"

#include <plumb/json.h>
#include <plumb/text.h>
#include <stdlib.h>
#include <string.h>

struct tree {
	char *name;
	struct tree_time time;
	struct tree **below;
	size_t n;
};

struct tree *tree_new(void)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		abort();
	return tree;
}

void tree_free(struct tree *tree)
{
	for (size_t i = 0; i < tree->n; i++)
		tree_free(tree->below[i]);
	free(tree->below);
	free(tree->name);
	free(tree);
}

static struct tree *branch(struct tree *tree, const char *name)
{
	struct tree *new;

	for (size_t i = 0; i < tree->n; i++)
		if (!strcmp(tree->below[i]->name, name))
			return tree->below[i];
	new = tree_new();
	new->name = strdup(name);
	tree->below = reallocarray(tree->below, tree->n + 1, sizeof(*tree->below));
	if (!new->name || !tree->below)
		abort();
	tree->below[tree->n++] = new;
	return new;
}

static void add_time(struct tree *tree, const struct tree_time *time)
{
	tree->time.on_cpu += time->on_cpu;
	tree->time.blocked += time->blocked;
	tree->time.runnable += time->runnable;
}

void tree_add(struct tree *tree, const struct plumb_frames *frames, const struct tree_time *time)
{
	add_time(tree, time);
	for (size_t i = frames->n_kernel; i-- > 0;) {
		tree = branch(tree, frames->text[i]);
		add_time(tree, time);
	}
}

static uint64_t total(const struct tree *tree)
{
	return tree->time.on_cpu + tree->time.blocked + tree->time.runnable;
}

static int heaviest_first(const void *a, const void *b)
{
	const struct tree *const *x = a, *const *y = b;

	return (total(*x) < total(*y)) - (total(*x) > total(*y));
}

static const char *figure(uint64_t ns, char *text, size_t size)
{
	if (!ns)
		return "-";
	return plumb_format_time(ns, PLUMB_AUTO, text, size);
}

/* Returns how many branches it has left out. */
static size_t print(const struct tree *tree, uint64_t whole, double percent, int depth, FILE *out)
{
	double share = whole ? 100.0 * total(tree) / whole : 0;
	char on_cpu[32], blocked[32], runnable[32];
	size_t left_out = 0;

	if (share < percent && depth)
		return 1;
	fprintf(out, "%6.1f%% %8s %8s %8s  %*s%s\n", share,
		figure(tree->time.on_cpu, on_cpu, sizeof(on_cpu)),
		figure(tree->time.blocked, blocked, sizeof(blocked)),
		figure(tree->time.runnable, runnable, sizeof(runnable)), depth, "",
		tree->name ?: "all");
	if (tree->n)
		qsort(tree->below, tree->n, sizeof(*tree->below), heaviest_first);
	for (size_t i = 0; i < tree->n; i++)
		left_out += print(tree->below[i], whole, percent, depth + 1, out);
	return left_out;
}

void tree_print(const struct tree *tree, double percent, FILE *out)
{
	size_t left_out;

	fprintf(out, "%7s %8s %8s %8s  %s\n", "SHARE", "ON-CPU", "BLOCKED", "RUNNABLE", "FUNCTION");
	left_out = print(tree, total(tree), percent, 0, out);
	if (left_out)
		fprintf(out, "left out: %zu branch%s of less than %g %% of all\n", left_out,
			left_out == 1 ? "" : "es", percent);
}

json_t *tree_json(const struct tree *tree)
{
	json_t *j = json_object(), *below = json_array();

	json_object_set_new(j, "function", plumb_json_text(tree->name ?: "all"));
	json_object_set_new(j, "on_cpu", plumb_json_u64(tree->time.on_cpu));
	json_object_set_new(j, "blocked", plumb_json_u64(tree->time.blocked));
	json_object_set_new(j, "runnable", plumb_json_u64(tree->time.runnable));
	for (size_t i = 0; i < tree->n; i++)
		json_array_append_new(below, tree_json(tree->below[i]));
	json_object_set_new(j, "calls", below);
	return j;
}

uint64_t tree_share(uint64_t whole, uint64_t weight, uint64_t before, uint64_t among)
{
	const unsigned __int128 ns = whole;

	return ns * (before + weight) / among - ns * before / among;
}
