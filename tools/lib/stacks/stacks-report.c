/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report of rows that are stacks: as table, folded lines, flame graph, JSON. */
#include "stacks.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/inflight.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/kernel/thread.h>
#include <plumb/split/waker.h>
#include <plumb/unwind/unwind.h>

/* Frames of a stack in the tree, innermost first. */
struct path {
	const struct plumb_name *names[2 * PLUMB_STACK_DEPTH + 3];
	size_t n;
};

/* Writes the frames of the stack that ends in LEAF to OWN, and those of its waker to WAKER. */
static void find_paths(const struct plumb_run *run, const struct plumb_stacks *stacks,
		       uint32_t leaf, struct path *own, struct path *waker)
{
	const struct plumb_node *nodes = stacks->tree.nodes;
	const struct plumb_name *name;

	own->n = waker->n = 0;
	/* The outermost node may be the key. */
	for (uint32_t i = leaf; i && !(plumb_stacks_have_key(run) && !nodes[i].caller);
	     i = nodes[i].caller) {
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

/* The time of the stack, or its calls, without what is idle. */
static uint64_t busy(const struct plumb_folded *f)
{
	return f->weight - f->idle;
}

static void print_figures(const struct plumb_report *r, const struct plumb_folded *f,
			  uint64_t whole, FILE *out)
{
	char time[32], min[32], max[32];

	if (r->run->tool->measure.kind != PLUMB_SUMS) {
		fprintf(out, "%8llu %5.1f%%: ", (unsigned long long)busy(f),
			percent(busy(f), whole));
		return;
	}
	fprintf(out, "%8s %5.1f%% %8llu x",
		plumb_format_time(busy(f), PLUMB_AUTO, time, sizeof(time)), percent(busy(f), whole),
		(unsigned long long)f->count);
	if (f->idle)
		fprintf(out, ", %s more idle",
			plumb_format_time(f->idle, PLUMB_AUTO, time, sizeof(time)));
	else if (is_of_all(r))
		fprintf(out, ", %s to %s", plumb_format_time(f->min, PLUMB_AUTO, min, sizeof(min)),
			plumb_format_time(f->max, PLUMB_AUTO, max, sizeof(max)));
	fputs(": ", out);
}

/*
 * Whether it is a frame that all stacks of the kernel end or begin with: the switch to another
 * thread, and the way in from user mode.
 */
static bool is_common(const struct plumb_name *name)
{
	static const char *const common[] = {
		"__schedule",
		"schedule",
		"do_syscall_64",
		"entry_SYSCALL_64_after_hwframe",
		"x64_sys_call",
		"entry_SYSENTER_compat_after_hwframe",
		"el0t_64_sync",
		"el0t_64_sync_handler",
		"el0_svc",
		"do_el0_svc",
		"el0_svc_common.constprop.0",
		"invoke_syscall",
		"invoke_syscall.constprop.0",
	};

	for (size_t i = 0; name->is_kernel && i < sizeof(common) / sizeof(common[0]); i++)
		if (!strcmp(name->text, common[i]))
			return true;
	return false;
}

/*
 * Prints frames innermost first, as debuggers do, with a line between kernel and user frames.
 * Those that tell nothing are printed with -v, and where there are no others.
 */
static void print_path(const struct path *path, FILE *out)
{
	bool was_kernel = false, all = plumb_verbosity;
	size_t n = 0;

	for (size_t i = 0; i < path->n; i++)
		n += !is_common(path->names[i]);
	all |= !n;
	for (size_t i = 0; i < path->n; i++) {
		if (!all && is_common(path->names[i]))
			continue;
		fprintf(out, "%s    %s\n",
			was_kernel && !path->names[i]->is_kernel ? "    --\n" : "",
			path->names[i]->text);
		was_kernel = path->names[i]->is_kernel;
	}
}

static void print_stack(const struct plumb_report *r, const struct plumb_stacks *stacks,
			const struct plumb_folded *folded, uint64_t whole, FILE *out)
{
	static struct path own, waker; /* large */
	char text[PLUMB_ESCAPED + 64];

	find_paths(r->run, stacks, folded->leaf, &own, &waker);
	print_figures(r, folded, whole, out);
	plumb_stacks_print_key(r->run, folded->row, out);
	fputc('\n', out);
	print_path(&own, out);
	if (!waker.n)
		return;
	fprintf(out, "    %s:\n",
		plumb_waker_text(plumb_stacks_waker_of(folded->row), text, sizeof(text)));
	print_path(&waker, out);
}

static int by_busy(const void *a, const void *b)
{
	return (busy(a) < busy(b)) - (busy(a) > busy(b));
}

/* Those with time that is not idle come first. Returns their number; *IDLE is the time of all that
 * is. */
static size_t set_idle_apart(const struct plumb_stacks *stacks, uint64_t *idle)
{
	size_t n = 0;

	*idle = 0;
	for (size_t i = 0; i < stacks->n; i++)
		*idle += stacks->all[i].idle;
	if (*idle)
		qsort(stacks->all, stacks->n, sizeof(*stacks->all), by_busy);
	while (n < stacks->n && busy(&stacks->all[n]))
		n++;
	return *idle ? n : stacks->n;
}

static void print_rows(const struct plumb_report *r, const struct plumb_stacks *stacks, FILE *out)
{
	uint64_t whole = 0, rest = 0, idle, top = r->run->options.top ?: SIZE_MAX;
	const size_t n = set_idle_apart(stacks, &idle);
	const struct plumb_folded *all = stacks->all;
	char time[32];

	for (size_t i = 0; i < n; i++)
		whole += busy(&all[i]);
	for (size_t i = 0; i < n && i < top; i++)
		print_stack(r, stacks, &all[i], whole, out);
	for (size_t i = top; i < n; i++)
		rest += busy(&all[i]);
	if (n > top)
		fprintf(out, "%5.1f%% in %zu more stacks: --top=0 shows all\n",
			percent(rest, whole), n - top);
	if (!stacks->n)
		fputs("(no stacks)\n", out);
	if (idle)
		fprintf(out, "%8s idle: threads that wait for work most of the time: --all-waits\n",
			plumb_format_time(idle, PLUMB_AUTO, time, sizeof(time)));
}

static void print_table(const struct plumb_report *r, const struct plumb_stacks *stacks, FILE *out)
{
	if (r->run->options.interval)
		plumb_report_time(r, out);
	print_rows(r, stacks, out);
	if (plumb_stacks_options.below)
		plumb_stacks_options.below(r, out);
	plumb_parts_add(r, out, NULL);
	if (r->run->tool->inflight)
		plumb_flights_print(r, out);
	if (r->final)
		plumb_report_footer(r, out);
}

static int print(struct plumb_report *r)
{
	const bool folded = plumb_stacks_options.folded;
	/* Lines of intervals may be added up: only the last has what has not ended. */
	struct plumb_stacks stacks = plumb_stacks_fold(r, folded && r->final, NULL);

	if (folded)
		plumb_folded_print(&stacks.tree, stacks.all, stacks.n, stdout);
	else
		print_table(r, &stacks, stdout);
	plumb_stacks_free(&stacks);
	if (folded && r->final) {
		fprintf(stderr, "%s: ", r->run->tool->card.name);
		plumb_report_ledger(r, stderr);
		fputc('\n', stderr);
	}
	return 0;
}

static int save(struct plumb_report *r)
{
	const struct plumb_measure *m = &r->run->tool->measure;
	char about[160];
	struct plumb_flame flame = {
		.about = about,
		.report = r,
		.unit = m->kind == PLUMB_SUMS ? "ns"
			: m->sampled          ? "samples"
					      : "calls",
	};
	struct plumb_stacks stacks;
	int err;

	if (!plumb_stacks_options.flame)
		return 0;
	stacks = plumb_stacks_fold(r, true, &flame);
	snprintf(about, sizeof(about), "%.3g s; the width of a frame is its share of the %s%s",
		 r->elapsed / 1e9, m->kind == PLUMB_SUMS ? "time" : flame.unit,
		 r->run->tool->inflight ? "; " IN_FLIGHT ": until the trace ended" : "");
	err = plumb_flame_write(plumb_stacks_options.flame, &flame, &stacks.tree, stacks.all,
				stacks.n);
	plumb_stacks_free(&stacks);
	free((void *)flame.before);
	return err;
}

static json_t *path_json(const struct path *path)
{
	json_t *all = json_array();

	for (size_t i = 0; i < path->n; i++)
		json_array_append_new(all, json_pack("{s:o, s:b}", "frame",
						     plumb_json_text(path->names[i]->text),
						     "kernel", path->names[i]->is_kernel));
	return all;
}

static json_t *json_of(const struct plumb_report *r, const struct plumb_stacks *stacks,
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
	if (plumb_stacks_options.is_for_work)
		json_object_set_new(json, "idle_ns", plumb_json_u64(f->idle));
	json_object_set_new(json, "stack", path_json(&own));
	if (plumb_stacks_options.waker)
		json_object_set_new(json, plumb_stacks_options.waker_json ?: "waker_stack",
				    path_json(&waker));
	return json;
}

/* Prints one row at a time: all of them as objects would take gigabytes. */
static int rows_json(const struct plumb_report *r, FILE *out)
{
	struct plumb_stacks stacks = plumb_stacks_fold(r, false, NULL);
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
	plumb_stacks_free(&stacks);
	return err;
}

static void complete(struct plumb_options *o, struct plumb_tool *tool)
{
	plumb_stacks_complete(o);
	tool->view.print = print;
	tool->view.save = save;
	tool->view.rows_json = rows_json;
}

const struct plumb_stacking plumb_stacking = {
	.tables_due = plumb_unwind_due,
	.tables_full = plumb_unwind_is_full,
	.complete = complete,
	.configure = plumb_stacks_configure,
	.fill = plumb_stacks_fill,
	.begin = plumb_stacks_begin,
	.ring = &plumb_stacks_ring,
	.flight = plumb_stacks_name_flight,
	.footer = plumb_stacks_footer,
};
