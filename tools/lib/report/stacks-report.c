/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report of rows that are stacks: as table, folded lines, flame graph, JSON. */
#include "flame.h"
#include "flame-base.h"
#include "stacks.h"

#include <ctype.h>
#include <errno.h>
#include <plumb/base/cli.h>
#include <plumb/base/json.h>
#include <plumb/base/log.h>
#include <plumb/report/inflight.h>
#include <plumb/report/report.h>
#include <plumb/base/text.h>
#include <plumb/report/waker.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

/* Maximum length of a key's field; the path of a cgroup may be long. */
#define FIELD 4096

/* Separates a stack from that of the thread's waker, which follows in reverse: innermost first. */
#define WOKEN_BY "--"

static bool has_key(const struct plumb_run *run)
{
	return run->options->by & ~PLUMB_BY_STACK;
}

/* "1234-nginx" */
static void print_key(const struct plumb_run *run, const struct plumb_row *row, FILE *out)
{
	const struct plumb_field *field;
	const char *before = "";
	char value[FIELD];

	if (!row->slot)
		fputs("[other]", out);
	for (size_t i = 0; row->slot && (field = plumb_field_at(run->tool, i)); i++) {
		if (!(run->options->by & field->bit))
			continue;
		field->format(row->key, value, sizeof(value));
		for (char *c = value; *c; c++)
			if (iscntrl((unsigned char)*c))
				*c = '?';
		fprintf(out, "%s%s", before, value);
		before = "-";
	}
}

/* The stacks of a snapshot. */
struct stacks {
	struct plumb_tree tree;
	struct plumb_folded *all; /* each with another path, heaviest first */
	size_t n;
};

static const struct plumb_waker *waker_of(const struct plumb_row *row)
{
	return (const void *)((const char *)row->key + plumb_stacks_options.waker);
}

/* Adds the waker's stack below LEAF, the innermost frame of a stack; returns the last node. */
static uint32_t fold_waker(const struct plumb_run *run, const struct plumb_row *row,
			   struct plumb_tree *tree, uint32_t leaf)
{
	static struct plumb_frames f; /* large */
	const struct plumb_waker *w = waker_of(row);
	struct plumb_stack_key key = {.kernel = w->kernel, .user = w->user, .tgid = w->pid};

	if (!plumb_waker_has_stack(w))
		return leaf;
	plumb_frames_name(&f, run->object, &key);
	if (f.n)
		leaf = plumb_tree_add(tree, leaf, WOKEN_BY, false);
	for (size_t i = 0; i < f.n; i++)
		leaf = plumb_tree_add(tree, leaf, f.text[i], i < f.n_kernel);
	plumb_frames_free(&f);
	return leaf;
}

/* Adds the key and then the frames, outermost first, to the tree; returns the last node. */
static uint32_t fold(const struct plumb_run *run, const struct plumb_row *row,
		     struct plumb_tree *tree)
{
	static struct plumb_frames f; /* large */
	uint32_t leaf = 0;
	char *key = NULL;
	size_t size;
	FILE *out;

	if (has_key(run)) {
		out = open_memstream(&key, &size);
		if (!out)
			abort();
		print_key(run, row, out);
		if (fclose(out))
			abort();
		leaf = plumb_tree_add(tree, leaf, key, false);
		free(key);
	}
	f.n = f.n_kernel = 0;
	if (row->slot)
		plumb_frames_fill(&f, run->object, row->key, run->tool->measure.sampled);
	for (size_t i = f.n; i-- > 0;)
		leaf = plumb_tree_add(tree, leaf, f.text[i], i < f.n_kernel);
	plumb_frames_free(&f);
	return plumb_stacks_options.waker && row->slot ? fold_waker(run, row, tree, leaf) : leaf;
}

/*
 * Builds the stacks of a snapshot.  Rows whose addresses differ may have the same names; these are
 * merged.  The stacks of an earlier run are added for FLAME, unless it is NULL.
 */
static struct stacks fold_all(const struct plumb_run *run, const struct plumb_snapshot *snap,
			      struct plumb_flame *flame)
{
	struct stacks stacks = {.all = calloc(snap->n ?: 1, sizeof(*stacks.all))};

	if (!stacks.all)
		abort();
	plumb_symbolizer_note_due(plumb_stacks_symbolizer, true);
	for (size_t i = 0; i < snap->n; i++) {
		const struct plumb_row *row = &snap->rows[i];

		stacks.all[i] = (struct plumb_folded){
			.leaf = fold(run, row, &stacks.tree),
			.weight = run->tool->measure.kind == PLUMB_SUMS ? row->sum : row->count,
			.count = row->count,
			.max = row->dist.max,
			.min = row->dist.min,
			.row = row,
		};
	}
	if (flame)
		flame->before = plumb_flame_base_add(&stacks.tree, &flame->n_before);
	plumb_tree_close(&stacks.tree);
	stacks.n = plumb_folded_merge(&stacks.tree, stacks.all, snap->n);
	return stacks;
}

static void free_all(struct stacks *stacks)
{
	plumb_tree_free(&stacks->tree);
	free(stacks->all);
}

/* Frames of a stack in the tree, innermost first. */
struct path {
	const struct plumb_name *names[2 * PLUMB_STACK_DEPTH + 3];
	size_t n;
};

/* Writes the frames of the stack that ends in LEAF to OWN, and those of its waker to WAKER. */
static void find_paths(const struct plumb_run *run, const struct stacks *stacks, uint32_t leaf,
		       struct path *own, struct path *waker)
{
	const struct plumb_node *nodes = stacks->tree.nodes;
	const struct plumb_name *name;

	own->n = waker->n = 0;
	/* The outermost node may be the key. */
	for (uint32_t i = leaf; i && !(has_key(run) && !nodes[i].caller); i = nodes[i].caller) {
		name = plumb_tree_name(&stacks->tree, i);
		if (plumb_stacks_options.waker && !waker->n && !strcmp(name->text, WOKEN_BY)) {
			*waker = *own;
			own->n = 0;
		} else if (own->n < sizeof(own->names) / sizeof(own->names[0])) {
			own->names[own->n++] = name;
		}
	}
	for (size_t i = 0; i < waker->n / 2; i++) {
		name = waker->names[i];
		waker->names[i] = waker->names[waker->n - 1 - i];
		waker->names[waker->n - 1 - i] = name;
	}
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

/*
 * Whether the report is of the whole run.  Otherwise minimum and maximum may be of other intervals.
 */
static bool is_of_all(const struct plumb_report *r)
{
	return r->final && r->seq == 1;
}

static void print_figures(const struct plumb_report *r, const struct plumb_folded *f,
			  uint64_t whole, FILE *out)
{
	char time[32], min[32], max[32];

	if (r->run->tool->measure.kind != PLUMB_SUMS) {
		fprintf(out, "%8llu %5.1f%%: ", (unsigned long long)f->weight,
			percent(f->weight, whole));
		return;
	}
	fprintf(out, "%8s %5.1f%% %8llu x",
		plumb_format_time(f->weight, PLUMB_AUTO, time, sizeof(time)),
		percent(f->weight, whole), (unsigned long long)f->count);
	if (is_of_all(r))
		fprintf(out, ", %s to %s", plumb_format_time(f->min, PLUMB_AUTO, min, sizeof(min)),
			plumb_format_time(f->max, PLUMB_AUTO, max, sizeof(max)));
	fputs(": ", out);
}

/* Prints frames innermost first, as debuggers do, with a line between kernel and user frames. */
static void print_path(const struct path *path, FILE *out)
{
	bool was_kernel = false;

	for (size_t i = 0; i < path->n; i++) {
		fprintf(out, "%s    %s\n",
			was_kernel && !path->names[i]->is_kernel ? "    --\n" : "",
			path->names[i]->text);
		was_kernel = path->names[i]->is_kernel;
	}
}

static void print_stack(const struct plumb_report *r, const struct stacks *stacks,
			const struct plumb_folded *folded, uint64_t whole, FILE *out)
{
	static struct path own, waker; /* large */
	char text[PLUMB_ESCAPED + 64];

	find_paths(r->run, stacks, folded->leaf, &own, &waker);
	print_figures(r, folded, whole, out);
	print_key(r->run, folded->row, out);
	fputc('\n', out);
	print_path(&own, out);
	if (!waker.n)
		return;
	fprintf(out, "    %s:\n", plumb_waker_text(waker_of(folded->row), text, sizeof(text)));
	print_path(&waker, out);
}

static void print_table(const struct plumb_report *r, const struct stacks *stacks, FILE *out)
{
	uint64_t whole = 0, rest = 0, top = r->run->options->top;
	const struct plumb_folded *all = stacks->all;
	size_t n = stacks->n;

	if (r->run->options->interval)
		plumb_report_time(r, out);
	for (size_t i = 0; i < n; i++)
		whole += all[i].weight;
	for (size_t i = 0; i < n && i < top; i++)
		print_stack(r, stacks, &all[i], whole, out);
	for (size_t i = top; i < n; i++)
		rest += all[i].weight;
	if (n > top)
		fprintf(out, "%5.1f%% in %zu more stacks: --top=N shows more\n",
			percent(rest, whole), n - top);
	if (!n)
		fputs("(no stacks)\n", out);
	plumb_flights_print(r, out);
	if (r->final)
		plumb_report_footer(r, out);
}

int plumb_stacks_print(struct plumb_report *r)
{
	struct stacks stacks = fold_all(r->run, r->snap, NULL);

	if (plumb_stacks_options.folded)
		plumb_folded_print(&stacks.tree, stacks.all, stacks.n, stdout);
	else
		print_table(r, &stacks, stdout);
	free_all(&stacks);
	return 0;
}

int plumb_stacks_save(const struct plumb_run *run, const struct plumb_snapshot *total,
		      uint64_t elapsed)
{
	char title[128];
	struct plumb_flame flame = {
		.title = title,
		.unit = run->tool->measure.kind == PLUMB_SUMS ? "ns" : "samples",
	};
	struct stacks stacks;
	int err;

	if (!plumb_stacks_options.flame)
		return 0;
	stacks = fold_all(run, total, &flame);
	snprintf(title, sizeof(title), "%s, %.3g s", run->tool->card.name, elapsed / 1e9);
	err = plumb_flame_write(plumb_stacks_options.flame, &flame, &stacks.tree, stacks.all,
				stacks.n);
	free_all(&stacks);
	free((void *)flame.before);
	return err;
}

static json_t *path_json(const struct path *path)
{
	json_t *all = json_array(), *one;

	for (size_t i = 0; i < path->n; i++) {
		one = json_object();
		json_object_set_new(one, "frame", plumb_json_text(path->names[i]->text));
		json_object_set_new(one, "kernel", json_boolean(path->names[i]->is_kernel));
		json_array_append_new(all, one);
	}
	return all;
}

static json_t *json_of(const struct plumb_report *r, const struct stacks *stacks,
		       const struct plumb_folded *f)
{
	static struct path own, waker; /* large */
	bool time = r->run->tool->measure.kind == PLUMB_SUMS;
	json_t *json = json_object();

	find_paths(r->run, stacks, f->leaf, &own, &waker);
	json_object_set_new(json, "key", plumb_json_key(r->run, f->row));
	json_object_set_new(json, "count", plumb_json_u64(f->count));
	if (time)
		json_object_set_new(json, "sum", plumb_json_u64(f->weight));
	if (time && is_of_all(r)) {
		json_object_set_new(json, "min", plumb_json_u64(f->min));
		json_object_set_new(json, "max", plumb_json_u64(f->max));
	}
	json_object_set_new(json, "stack", path_json(&own));
	if (plumb_stacks_options.waker)
		json_object_set_new(json, "waker_stack", path_json(&waker));
	return json;
}

/* Prints one row at a time: all of them as objects would take gigabytes. */
int plumb_stacks_rows_json(const struct plumb_report *r, FILE *out)
{
	struct stacks stacks = fold_all(r->run, r->snap, NULL);
	json_t *row;
	int err = 0;

	fputc('[', out);
	for (size_t i = 0; !err && i < stacks.n; i++) {
		if (i)
			fputc(',', out);
		row = json_of(r, &stacks, &stacks.all[i]);
		err = json_dumpf(row, out, JSON_COMPACT) ? -(errno ?: EIO) : 0;
		json_decref(row);
	}
	fputc(']', out);
	free_all(&stacks);
	return err;
}
