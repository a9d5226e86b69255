/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report as JSON: one object per line. */
#include "report.h"
#include <plumb/core/json.h>

#define set(object, key, value) json_object_set_new(object, key, value)

static json_t *count_or_null(bool known, uint64_t count)
{
	return known ? plumb_json_u64(count) : json_null();
}

static json_t *attached(const struct row *row)
{
	json_t *all = json_array();

	for (const struct attachment *a = row->links; a < row->links + row->n_links; a++)
		json_array_append_new(
			all, json_pack("{s:o, s:s, s:o, s:o}", "link", plumb_json_u64(a->id), "by",
				       a->by, "target",
				       a->target ? plumb_json_text(a->target) : json_null(), "more",
				       plumb_json_u64(a->more)));
	return all;
}

static json_t *tag(const struct program *p)
{
	char text[2 * BPF_TAG_SIZE + 1];

	for (size_t i = 0; i < BPF_TAG_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", p->tag[i]);
	return json_string(text);
}

static json_t *program(const struct report *r, const struct row *row)
{
	static const char *const guards[] = {
		[GUARD_NONE] = "none", [GUARD_OWN] = "own", [GUARD_SHARED] = "kprobe"};
	const struct program *p = row->program;
	json_t *j = json_object();
	char type[24];

	set(j, "id", plumb_json_u64(p->id));
	set(j, "type", json_string(program_type(p->type, type, sizeof(type))));
	set(j, "name", plumb_json_text(p->name));
	set(j, "tag", tag(p));
	set(j, "attached", attached(row));
	set(j, "guard", json_string(guards[row->guard]));
	set(j, "runs", plumb_json_u64(row->runs));
	set(j, "run_time_ns", plumb_json_u64(row->run_time));
	set(j, "cpu_percent", json_real(row_cpu_percent(r->rows, row)));
	set(j, "recursion_misses", count_or_null(row->recursion.known, row->recursion.now));
	set(j, "link_missed", count_or_null(row->link.known, row->link.now));
	set(j, "since_load",
	    json_pack("{s:o, s:o}", "recursion_misses",
		      count_or_null(row->recursion.known, row->recursion.ever), "link_missed",
		      count_or_null(row->link.known, row->link.ever)));
	return j;
}

static json_t *shared_guard(const struct report *r)
{
	const struct guard_use *g = &r->rows->shared;
	json_t *members = json_array();

	for (const struct row *row = r->rows->all; row < r->rows->all + r->rows->n; row++)
		if (row->guard == GUARD_SHARED)
			json_array_append_new(members, json_pack("{s:o, s:f}", "id",
								 plumb_json_u64(row->program->id),
								 "held_percent",
								 row_held_percent(r->rows, row)));
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", "kprobe", "held_ns",
			 plumb_json_u64(g->run_time), "recursion_misses",
			 count_or_null(g->known, g->missed), "members", members, "likeliest_cause",
			 g->missed && g->holder ? plumb_json_u64(g->holder->program->id)
						: json_null());
}

int report_json(const struct report *r, FILE *out)
{
	json_t *j = plumb_json_new("probe-misses"), *programs = json_array(),
	       *guards = json_array();

	for (size_t i = 0; i < r->rows->n; i++)
		json_array_append_new(programs, program(r, &r->rows->all[i]));
	if (r->rows->shared.members)
		json_array_append_new(guards, shared_guard(r));
	set(j, "start", plumb_json_time(&r->start));
	set(j, "end", plumb_json_time(&r->now->taken));
	set(j, "seq", plumb_json_u64(r->seq));
	set(j, "final", json_boolean(r->final));
	set(j, "elapsed_ns", plumb_json_u64(r->rows->elapsed));
	set(j, "programs", programs);
	set(j, "ended", plumb_json_u64(r->rows->gone));
	set(j, "guards", guards);
	set(j, "statistics", json_pack("{s:b}", "on_before", r->on_before));
	return plumb_json_print(j, out);
}
