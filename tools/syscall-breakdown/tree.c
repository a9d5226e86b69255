/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>

struct tree {
	char *name;
	struct tree_time time;
	bool measured; /* the time on the CPU is measured, not divided by samples */
	struct tree **below;
	size_t n;
};

struct tree *tree_new(void)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		abort();
	tree->measured = true;
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
	new->measured = false;
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
	tree->time.preempted_runq += time->preempted_runq;
	tree->time.samples += time->samples;
}

void tree_add(struct tree *tree, const char *call, const struct plumb_frames *frames,
	      const struct tree_time *time)
{
	add_time(tree, time);
	if (call) {
		tree = branch(tree, call);
		tree->measured = true;
		add_time(tree, time);
	}
	for (size_t i = frames->n_kernel; i-- > 0;) {
		tree = branch(tree, frames->text[i]);
		add_time(tree, time);
	}
}

static uint64_t total(const struct tree *tree)
{
	return tree->time.on_cpu + tree->time.blocked + tree->time.preempted_runq;
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

/* The error of the time on the CPU in percent, if it is a share of WHOLE's by samples; else "". */
static const char *error(const struct tree *tree, const struct tree *whole, char *text, size_t size)
{
	double low, high, share;

	if (tree->measured || !tree->time.samples)
		return "";
	tree_bounds(tree->time.samples, whole->time.samples, &low, &high);
	share = (double)tree->time.samples / whole->time.samples;
	snprintf(text, size, "±%.0f%%", ceil(100 * fmax(share - low, high - share) / share));
	return text;
}

/* Number of UTF-8 continuation bytes. */
static int continued(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) == 0x80;
	return n;
}

/* Returns how many branches it has not shown. */
static size_t print(const struct tree *tree, const struct tree *measured, uint64_t whole,
		    double percent, int depth, FILE *out)
{
	double share = whole ? 100.0 * total(tree) / whole : 0;
	char on_cpu[32], blocked[32], preempted_runq[32], text[32];
	const char *off = error(tree, measured, text, sizeof(text));
	size_t not_shown = 0;

	if (share < percent && depth)
		return 1;
	if (tree->measured)
		measured = tree;
	fprintf(out, "%6.1f%% %8s %*s %8s %9s  %*s%s\n", share,
		figure(tree->time.on_cpu, on_cpu, sizeof(on_cpu)), 5 + continued(off), off,
		figure(tree->time.blocked, blocked, sizeof(blocked)),
		figure(tree->time.preempted_runq, preempted_runq, sizeof(preempted_runq)), depth,
		"", tree->name ?: "all");
	if (tree->n)
		qsort(tree->below, tree->n, sizeof(*tree->below), heaviest_first);
	for (size_t i = 0; i < tree->n; i++)
		not_shown += print(tree->below[i], measured, whole, percent, depth + 1, out);
	return not_shown;
}

void tree_print(const struct tree *tree, double percent, FILE *out)
{
	size_t not_shown;

	fprintf(out, "%7s %8s %6s %8s %9s  %s\n", "SHARE", "ON-CPU", "±", "BLOCKED", "PREE+RUNQ",
		"FUNCTION");
	not_shown = print(tree, tree, total(tree), percent, 0, out);
	if (not_shown)
		fprintf(out, "not shown: %zu branch%s of less than %g %% of all\n", not_shown,
			not_shown == 1 ? "" : "es", percent);
}

static json_t *json_of(const struct tree *tree, const struct tree *measured)
{
	json_t *j = json_object(), *below = json_array();
	double low = 1, high = 1;

	if (tree->measured)
		measured = tree;
	else
		tree_bounds(tree->time.samples, measured->time.samples, &low, &high);

	json_object_set_new(j, "function", plumb_json_text(tree->name ?: "all"));
	json_object_set_new(j, "on_cpu", plumb_json_u64(tree->time.on_cpu));
	json_object_set_new(j, "on_cpu_low", plumb_json_u64(low * measured->time.on_cpu));
	json_object_set_new(j, "on_cpu_high", plumb_json_u64(ceil(high * measured->time.on_cpu)));
	json_object_set_new(j, "samples", plumb_json_u64(tree->time.samples));
	json_object_set_new(j, "blocked", plumb_json_u64(tree->time.blocked));
	json_object_set_new(j, "preempted_runq", plumb_json_u64(tree->time.preempted_runq));
	for (size_t i = 0; i < tree->n; i++)
		json_array_append_new(below, json_of(tree->below[i], measured));
	json_object_set_new(j, "calls", below);
	return j;
}

json_t *tree_json(const struct tree *tree)
{
	return json_of(tree, tree);
}

void tree_bounds(uint64_t k, uint64_t n, double *low, double *high)
{
	const double z = 1.959964;
	double p, centre, half;

	*low = 0;
	*high = 1;
	if (!n)
		return;
	p = (double)k / n;
	centre = (p + z * z / (2 * n)) / (1 + z * z / n);
	half = z * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n)) / (1 + z * z / n);
	if (k)
		*low = centre - half;
	if (k < n)
		*high = centre + half;
}

uint64_t tree_share(uint64_t whole, uint64_t weight, uint64_t before, uint64_t among)
{
	const unsigned __int128 ns = whole;

	return ns * (before + weight) / among - ns * before / among;
}
