/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* meanwhile: --who, what happened while traced threads waited for a CPU. */
#include <string.h>
#include <plumb/core/json.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>
#include <plumb/core/text.h>
#include <plumb/meanwhile/meanwhile.h>

#include <bpf/libbpf.h>

#include "sums.h"

#define MOST_SUMS  8192 /* threads that had a CPU meanwhile, and that waited */
#define MOST_PATHS 256
#define SHOWN      6 /* lines, in a table */

static bool asked;
/* As of the last interval, and the difference to the one before it. */
static struct meanwhile_sums last, interval;
static uint64_t taken; /* plumb_report.seq of that interval */

/* --- as text --- */

static bool is_waiter(const struct meanwhile_one *one)
{
	return one->key.kind == PLUMB_MEANWHILE_WAITER;
}

/* The ns of all waiters, or of all that they waited for. */
static uint64_t total(const struct meanwhile_sums *s, bool waiters)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->n; i++)
		ns += is_waiter(&s->all[i]) == waiters ? s->all[i].sum.ns : 0;
	return ns;
}

static void print_time(const struct plumb_report *r, uint64_t ns, uint64_t of, FILE *out)
{
	char text[32], share[32];

	fprintf(out, "%8s ", plumb_format_time(ns, r->run->options.unit, text, sizeof(text)));
	fprintf(out, "%5s%%  ",
		plumb_format_percent(of ? 100.0 * ns / of : 0, share, sizeof(share)));
}

static void print_list(const struct plumb_report *r, const struct meanwhile_sums *s, bool waiters,
		       FILE *out)
{
	const uint64_t all = total(s, waiters);
	uint64_t rest = all;
	size_t shown = 0, more = 0;
	char text[PLUMB_MEANWHILE_TEXT];

	for (size_t i = 0; i < s->n; i++) {
		const struct meanwhile_one *one = &s->all[i];

		if (is_waiter(one) != waiters)
			continue;
		if (shown == SHOWN) {
			more++;
			continue;
		}
		shown++;
		rest -= one->sum.ns;
		plumb_meanwhile_text(r->run->instance.bpf.object, &one->key, text, sizeof(text));
		print_time(r, one->sum.ns, all, out);
		fprintf(out, "%s\n", text);
	}
	if (!more)
		return;
	print_time(r, rest, all, out);
	fprintf(out, "(%zu more)\n", more);
}

static void print(const struct plumb_report *r, const struct meanwhile_sums *s, FILE *out)
{
	char text[32];

	if (!s->n)
		return;
	fprintf(out, "\nwaited for a CPU, %s in all:\n",
		plumb_format_time(total(s, true), r->run->options.unit, text, sizeof(text)));
	print_list(r, s, true, out);
	fputs("meanwhile on their CPUs:\n", out);
	print_list(r, s, false, out);
}

/* --- in JSON --- */

static json_t *json_of(const struct plumb_report *r, const struct meanwhile_one *one)
{
	json_t *j = plumb_meanwhile_json(r->run->instance.bpf.object, &one->key, one->sum.ns);

	json_object_set_new(j, "count", plumb_json_u64(one->sum.count));
	return j;
}

static json_t *json(const struct plumb_report *r, const struct meanwhile_sums *s)
{
	json_t *waited = json_array(), *meanwhile = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(is_waiter(&s->all[i]) ? waited : meanwhile,
				      json_of(r, &s->all[i]));
	return json_pack("{s:o,s:o}", "waited", waited, "meanwhile", meanwhile);
}

/* --- the part --- */

/* clang-format off */
static const struct plumb_option options[] = {
	{"who", 0, NULL, "also sum up which threads had the CPU while others waited for it", 40, .given = &asked},
	{0},
};
/* clang-format on */

static bool has(const struct plumb_tool *tool)
{
	return tool && tool->meanwhile;
}

/* Tools that can split times learn of waits by that. */
static void complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	if (asked && tool->measure.split_by)
		o->split = true;
}

/* Waits begin there. */
static void add_hook(struct plumb_bpf *bpf)
{
	size_t i = 0;

	while (i < PLUMB_MAX_HOOKS - 1 && *bpf->hooks[i] && strcmp(bpf->hooks[i], "sched_waking"))
		i++;
	strcpy(bpf->hooks[i], "sched_waking");
}

static void configure(struct plumb_bpf *bpf)
{
	struct bpf_map *sums = bpf_object__find_map_by_name(bpf->object, "plumb_meanwhile");

	if (!asked || !sums)
		return;
	bpf->config->meanwhile = bpf->config->waits = 1;
	add_hook(bpf);
	bpf_map__set_max_entries(sums, MOST_SUMS);
	bpf_map__set_max_entries(bpf_object__find_map_by_name(bpf->object, "plumb_meanwhile_paths"),
				 MOST_PATHS);
}

static void prepare(struct plumb_run *run)
{
	if (asked)
		meanwhile_prepare(run->instance.bpf.object);
}

static int take(const struct plumb_report *r)
{
	struct meanwhile_sums now = {};

	if (!asked)
		return 0;
	now = meanwhile_read(r->run->instance.bpf.object);
	meanwhile_free(&interval);
	interval = meanwhile_since(&now, &last);
	meanwhile_free(&last);
	last = now;
	taken = r->seq;
	return 0;
}

/* Of the whole run, of an interval that take() has taken, or of the one in progress. */
static void add(const struct plumb_report *r, FILE *out, json_t *to)
{
	const bool whole = r->snap == r->total;
	struct meanwhile_sums now = {}, since = {}, *of = &interval;

	if (!asked)
		return;
	if (whole || r->seq != taken) {
		now = meanwhile_read(r->run->instance.bpf.object);
		since = meanwhile_since(&now, &last);
		of = whole ? &now : &since;
	}
	if (out)
		print(r, of, out);
	else
		json_object_set_new(to, "who", json(r, of));
	meanwhile_free(&since);
	meanwhile_free(&now);
}

static int forget(void)
{
	meanwhile_free(&last);
	meanwhile_free(&interval);
	return 0;
}

const struct plumb_part plumb_meanwhile_part = {
	.name = "meanwhile",
	.options = options,
	.has = has,
	.complete = complete,
	.configure = configure,
	.loaded = prepare,
	.interval = take,
	.add = add,
	.close = forget,
};
