/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From the rows of a report to stacks of names, with what has not ended. */
#include "stacks.h"

#include <stdlib.h>
#include <plumb/core/inflight.h>
#include <plumb/core/memory.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/kernel/thread.h>
#include <plumb/split/waker.h>

/* Maximum length of a key's field; the path of a cgroup may be long. */
#define FIELD 4096

bool plumb_stacks_have_key(const struct plumb_run *run)
{
	return run->options.by & ~PLUMB_BY_STACK;
}

void plumb_stacks_print_key(const struct plumb_run *run, const struct plumb_row *row, FILE *out)
{
	const struct plumb_field *field;
	const char *before = "";
	char value[FIELD], escaped[FIELD];

	if (!row->slot)
		fputs("[other]", out);
	for (size_t i = 0; row->slot && (field = plumb_field_at(run->tool, i)); i++) {
		if (!(run->options.by & field->bit))
			continue;
		plumb_field_format(field, row->key, value, sizeof(value));
		plumb_escape_text(escaped, value, sizeof(escaped));
		fprintf(out, "%s%s", before, escaped);
		before = "-";
	}
}

const struct plumb_waker *plumb_stacks_waker_of(const struct plumb_row *row)
{
	return (const void *)((const char *)row->key + plumb_stacks_options.waker);
}

/* Adds the waker's stack below LEAF, the innermost frame of a stack; returns the last node. */
static uint32_t fold_waker(const struct plumb_run *run, const struct plumb_row *row,
			   struct plumb_tree *tree, uint32_t leaf)
{
	static struct plumb_frames f; /* large */
	const struct plumb_waker *w = plumb_stacks_waker_of(row);
	struct plumb_stack_key key = {.kernel = w->kernel, .user = w->user, .tgid = w->pid};

	if (!plumb_waker_has_stack(w))
		return leaf;
	plumb_frames_name(&f, run->instance.bpf.object, &key);
	if (f.n)
		leaf = plumb_tree_add(tree, leaf, WOKEN_BY, false);
	for (size_t i = 0; i < f.n; i++)
		leaf = plumb_tree_add(tree, leaf, f.text[i], i < f.n_kernel);
	plumb_frames_free(&f);
	return leaf;
}

/* Adds the key, and returns its node. */
static uint32_t fold_key(const struct plumb_run *run, const struct plumb_row *row,
			 struct plumb_tree *tree)
{
	uint32_t leaf;
	char *key = NULL;
	size_t size;
	FILE *out;

	if (!plumb_stacks_have_key(run))
		return 0;
	out = open_memstream(&key, &size);
	if (!out)
		abort();
	plumb_stacks_print_key(run, row, out);
	if (fclose(out))
		abort();
	leaf = plumb_tree_add(tree, 0, key, false);
	free(key);
	return leaf;
}

/* Adds frames below LEAF, outermost first; returns the last node. */
static uint32_t fold_frames(struct plumb_frames *f, struct plumb_tree *tree, uint32_t leaf)
{
	for (size_t i = f->n; i-- > 0;)
		leaf = plumb_tree_add(tree, leaf, f->text[i], i < f->n_kernel);
	plumb_frames_free(f);
	return leaf;
}

/* Adds the key and then the frames to the tree; returns the last node. *IDLE is set. */
static uint32_t fold(const struct plumb_run *run, const struct plumb_row *row,
		     struct plumb_tree *tree, uint64_t *idle)
{
	static struct plumb_frames f; /* large */
	uint32_t leaf = fold_key(run, row, tree);

	f.n = f.n_kernel = 0;
	if (row->slot)
		plumb_frames_fill(&f, run->instance.bpf.object, row->key,
				  run->tool->measure.sampled);
	*idle = row->slot && plumb_stacks_options.is_for_work &&
				plumb_stacks_options.is_for_work(&f)
			? row->counters[0]
			: 0;
	leaf = fold_frames(&f, tree, leaf);
	return plumb_stacks_options.waker && row->slot ? fold_waker(run, row, tree, leaf) : leaf;
}

/* The same of a thread that is still there; its key is what /proc has of it. */
static uint32_t fold_flight(const struct plumb_report *r, const struct plumb_flight *one,
			    struct plumb_tree *tree)
{
	static struct plumb_frames f; /* large */
	union {
		struct plumb_stack_key stack;
		char all[512];
	} key = {.stack = {.what = one->what}};
	const struct plumb_row row = {.slot = 1, .key = &key};
	uint32_t leaf;

	plumb_thread_who(one->pid, one->tid, r->run->options.by, &key.stack.who);
	leaf = fold_key(r->run, &row, tree);
	f.n = f.n_kernel = 0;
	plumb_stacks_name_flight(r->run, one, &f);
	return plumb_tree_add(tree, fold_frames(&f, tree, leaf), IN_FLIGHT, false);
}

/* Adds what has not ended, with its time in the trace. */
static void fold_flights(const struct plumb_report *r, struct plumb_stacks *stacks)
{
	const struct plumb_flights *f = r->flights;

	for (size_t i = 0; i < f->n; i++) {
		const uint64_t ns = plumb_flight_traced(f, &f->all[i]);

		if (ns)
			stacks->all[stacks->n++] = (struct plumb_folded){
				.leaf = fold_flight(r, &f->all[i], &stacks->tree),
				.weight = ns,
				.count = 1,
			};
	}
}

struct plumb_stacks plumb_stacks_fold(const struct plumb_report *r, bool in_flight,
				      struct plumb_flame *flame)
{
	const struct plumb_run *run = r->run;
	const struct plumb_snapshot *snap = r->snap;
	const size_t more = in_flight && run->tool->inflight ? r->flights->n : 0;
	struct plumb_stacks stacks = {.all = calloc(snap->n + more + 1, sizeof(*stacks.all))};

	if (!stacks.all)
		abort();
	plumb_symbolizer_note_kernel(plumb_stacks_symbolizer);
	plumb_symbolizer_note_due(plumb_stacks_symbolizer, true);
	for (size_t i = 0; i < snap->n; i++) {
		const struct plumb_row *row = &snap->rows[i];
		struct plumb_folded *to = &stacks.all[stacks.n++];

		*to = (struct plumb_folded){
			.weight = run->tool->measure.kind == PLUMB_SUMS ? row->sum : row->count,
			.count = row->count,
			.max = row->dist.max,
			.min = row->dist.min,
			.row = row,
		};
		to->leaf = fold(run, row, &stacks.tree, &to->idle);
	}
	if (more)
		fold_flights(r, &stacks);
	if (flame)
		flame->before = plumb_flame_base_add(&stacks.tree, &flame->n_before);
	plumb_tree_close(&stacks.tree);
	stacks.n = plumb_folded_merge(&stacks.tree, stacks.all, stacks.n);
	return stacks;
}

int plumb_flame_weighed(const struct plumb_report *r, const char *path,
			const struct plumb_weighed *all, size_t n)
{
	static struct plumb_frames f; /* large */
	struct plumb_stacks stacks = {.all = plumb_zeroed(n, sizeof(*stacks.all)), .n = n};
	char about[160];
	const struct plumb_flame flame = {.about = about, .report = r, .unit = "ns"};
	uint32_t leaf;
	int err;

	for (size_t i = 0; i < n; i++) {
		f.n = f.n_kernel = 0;
		if (all[i].key)
			plumb_frames_name(&f, r->run->instance.bpf.object, all[i].key);
		leaf = plumb_tree_add(&stacks.tree, 0, all[i].outer, false);
		leaf = fold_frames(&f, &stacks.tree, leaf);
		if (all[i].inner)
			leaf = plumb_tree_add(&stacks.tree, leaf, all[i].inner, true);
		stacks.all[i] = (struct plumb_folded){.leaf = leaf, .weight = all[i].weight};
	}
	plumb_tree_close(&stacks.tree);
	stacks.n = plumb_folded_merge(&stacks.tree, stacks.all, stacks.n);
	snprintf(about, sizeof(about),
		 "%.3g s; the width of a frame is its share of the time of all threads",
		 r->elapsed / 1e9);
	err = plumb_flame_write(path, &flame, &stacks.tree, stacks.all, stacks.n);
	plumb_stacks_free(&stacks);
	return err;
}

void plumb_stacks_free(struct plumb_stacks *stacks)
{
	plumb_tree_free(&stacks->tree);
	free(stacks->all);
}
