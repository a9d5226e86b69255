/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report as JSON: one object per report, times in ns, integers exact (schema "plumb/2"). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/attaching.h>
#include <plumb/core/dist-json.h>
#include <plumb/core/inflight.h>
#include <plumb/core/json.h>
#include <plumb/core/part.h>
#include <plumb/core/report.h>
#include <plumb/kernel/thread.h>

static void set(json_t *object, const char *name, json_t *value)
{
	json_object_set_new(object, name, value);
}

static void set_u64(json_t *object, const char *name, uint64_t value)
{
	set(object, name, plumb_json_u64(value));
}

static json_t *mechanism(const struct plumb_run *run)
{
	const struct plumb_mechanism *mechanism = run->instance.mechanism;
	json_t *m = json_object(), *hooks = json_array(), *refused = json_array(), *one;

	set(m, "name", json_string(mechanism->name));
	for (size_t i = 0; *run->instance.bpf.hooks[i]; i++)
		json_array_append_new(hooks, json_string(run->instance.bpf.hooks[i]));
	set(m, "hooks", hooks);
	set(m, "stability", json_string(mechanism->stability));
	for (size_t i = 0; i < run->n_refused; i++) {
		one = json_object();
		set(one, "name", json_string(run->refused[i].name));
		set(one, "why", plumb_json_text(run->refused[i].why));
		json_array_append_new(refused, one);
	}
	set(m, "refused", refused);
	return m;
}

static json_t *ns_or_null(bool known, double ns)
{
	return known ? json_integer((json_int_t)(ns + 0.5)) : json_null();
}

/* null if there is no interval, as for the kernel's run-time statistics. */
static json_t *interval_or_null(bool known, const struct plumb_interval *i)
{
	return known ? json_pack("[o,o]", ns_or_null(true, i->low), ns_or_null(true, i->high))
		     : json_null();
}

static json_t *overhead(const struct plumb_overhead *o)
{
	bool both = o->known && o->filtered_known;
	json_t *j = json_object();

	set(j, "traced", ns_or_null(o->known, o->traced.median));
	set(j, "traced_interval", interval_or_null(both, &o->traced));
	set(j, "filtered", ns_or_null(both, o->filtered.median));
	set(j, "filtered_interval", interval_or_null(both, &o->filtered));
	if (o->empty)
		set_u64(j, "empty", o->empty);
	if (o->empty_stepped)
		set_u64(j, "empty_stepped", o->empty_stepped);
	set(j, "how", json_string(o->how));
	return j;
}

json_t *plumb_json_key(const struct plumb_run *run, const struct plumb_row *row)
{
	const struct plumb_field *f;
	json_t *key = json_object();

	if (!row->slot)
		return json_pack("{s:b}", "other", 1);
	for (size_t i = 0; (f = plumb_field_at(run->tool, i)); i++)
		if (run->options.by & f->bit)
			set(key, f->name, plumb_field_json(f, row->key));
	return key;
}

static void add_second(const struct plumb_run *run, const struct plumb_row *row, json_t *j)
{
	json_t *second = json_object();

	plumb_measure_json(&run->options, &row->second, row->second_sum, second);
	set(j, run->tool->measure.second, second);
}

bool plumb_row_counts_errors(const struct plumb_tool *tool, const struct plumb_row *row)
{
	const struct plumb_measure *m = &tool->measure;

	return m->errors && (!m->fails || !row->slot || m->fails(row->key));
}

static json_t *column_json(const struct plumb_column *c, double value)
{
	return isnan(value)                   ? NULL
	       : c->kind <= PLUMB_COLUMN_TIME ? plumb_json_u64(value + 0.5)
					      : json_real(value);
}

/* A figure that a row has not is absent, a text null. */
static void add_own_columns(const struct plumb_report *r, const struct plumb_row *row, json_t *j)
{
	const char *text;

	for (const struct plumb_column *c = r->run->tool->measure.columns; c && c->name; c++) {
		if (!c->about)
			continue;
		text = c->text ? c->text(c->id, r, row) : NULL;
		set(j, c->name,
		    plumb_column_is_unknown(c, row->counters) ? NULL
		    : plumb_column_is_counter(c)              ? plumb_json_u64(row->counters[c->id])
		    : c->text ? (text ? json_string(text) : json_null())
			      : column_json(c, c->value(c->id, r, row)));
	}
}

static json_t *rows(const struct plumb_report *r)
{
	const struct plumb_run *run = r->run;
	json_t *all = json_array(), *j;

	for (size_t i = 0; i < r->snap->n; i++) {
		const struct plumb_row *row = &r->snap->rows[i];

		j = json_object();
		set(j, "key", plumb_json_key(run, row));
		set_u64(j, "count", row->count);
		set(j, "errors",
		    plumb_row_counts_errors(run->tool, row) ? plumb_json_u64(row->errors)
							    : json_null());
		add_own_columns(r, row, j);
		if (run->tool->measure.rate || run->tool->measure.kind != PLUMB_TIMES)
			set(j, "rate", json_real(plumb_row_rate(r, row)));
		if (plumb_has_histogram(run->tool->measure.kind))
			plumb_measure_json(&run->options, &row->dist, row->sum, j);
		if (row->split && run->tool->measure.split_by)
			set(j, "split", run->tool->measure.split_by->json(r, row));
		if (run->tool->measure.second)
			add_second(run, row, j);
		if (run->tool->view.row_json)
			run->tool->view.row_json(j, r, row);
		json_array_append_new(all, j);
	}
	return all;
}

static json_t *known_or_null(const struct plumb_report *r, uint64_t n)
{
	return r->total->missed_known ? plumb_json_u64(n) : json_null();
}

static json_t *ledger(const struct plumb_report *r)
{
	const struct plumb_ledger *l = &r->total->ledger;
	struct plumb_verdict v = r->verdict ? *r->verdict : plumb_ledger_judge(r->total);
	json_t *j = json_object();

	set_u64(j, "recorded", v.recorded);
	/* Where the kernel does not count what it skipped, nobody looked for all that was lost. */
	set(j, "lost", known_or_null(r, v.lost));
	set_u64(j, "lost_at_least", v.at_least);
	set(j, "entry_lost", known_or_null(r, v.entry_lost));
	set(j, "exit_lost", known_or_null(r, v.exit_lost));
	set(j, "both_lost", known_or_null(r, v.both_lost));
	set_u64(j, "in_flight", v.in_flight);
	set_u64(j, "abandoned", v.abandoned);
	set_u64(j, "exit_lost_observed", v.exit_lost_observed);
#define NONE(name)
#define SET(name, ...) set_u64(j, #name, l->name);
	PLUMB_LEDGER_COUNTERS(NONE, SET)
#undef NONE
#undef SET
	set(j, "missed", known_or_null(r, r->total->missed));
	set(j, "cpus_changed",
	    r->total->cpus_watched ? json_boolean(r->total->cpus_changed) : json_null());
	set_u64(j, "pooled", v.pooled);
	set_u64(j, "saturated", v.saturated);
	return j;
}

/* What threads waited for on their way out of their calls; null: that is not seen. */
static json_t *returns(const struct plumb_report *r)
{
	const struct plumb_returns *s = &r->total->returns;
	const bool seen = !*r->run->no_return;
	json_t *j = json_object();
	const struct {
		const char *name;
		uint64_t n;
	} sums[] = {
		{"calls", s->calls},
		{"sum", s->ns},
		{"max", s->longest},
		{"quota", s->by_cause[PLUMB_RETURN_QUOTA]},
		{"asleep", s->by_cause[PLUMB_RETURN_ASLEEP]},
		{"preempted", s->by_cause[PLUMB_RETURN_PREEMPTED]},
		{"late", s->late},
		{"late_sum", s->late_ns},
	};

	set(j, "not_seen", seen ? json_null() : json_string(r->run->no_return));
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		set(j, sums[i].name, seen ? plumb_json_u64(sums[i].n) : json_null());
	return j;
}

/* What the traced threads do that this kind of tool does not see; null: nobody looked. */
static json_t *not_seen(const struct plumb_run *run)
{
	json_t *all = json_array();

	if (run->rings < 0) {
		json_decref(all);
		return json_null();
	}
	if (run->rings)
		json_array_append_new(all, json_pack("{s:s,s:I}", "kind", "io_uring", "count",
						     (json_int_t)run->rings));
	return all;
}

static json_t *modules_gone(const struct plumb_attaching *attaching)
{
	json_t *all = json_array();
	const char *name;

	for (size_t i = 0; (name = attaching->gone(i)); i++)
		json_array_append_new(all, json_string(name));
	return all;
}

static json_t *watched(const struct plumb_run *run)
{
	json_t *all = json_array(), *one;

	for (uint32_t i = 0; i < run->options.n_cgroups; i++) {
		one = json_object();
		set(one, "path", plumb_json_text(run->options.cgroups[i]));
		set(one, "exists", json_boolean(run->watched[i].exists));
		set_u64(one, "made_again", run->watched[i].made_again);
		set(one, "polled", json_boolean(run->watched[i].polled));
		json_array_append_new(all, one);
	}
	return all;
}

void plumb_report_add_own(json_t *json, const struct plumb_report *r)
{
	const struct plumb_tool *tool = r->run->tool;

	if (tool->files)
		tool->files->report_json(json, r);
	if (tool->view.report_json)
		tool->view.report_json(json, r);
	plumb_parts_add(r, NULL, json);
}

static int rows_of_tool(const void *report, FILE *out)
{
	const struct plumb_report *r = report;

	return r->run->tool->view.rows_json(r, out);
}

json_t *plumb_report_object(const struct plumb_report *r)
{
	const struct plumb_run *run = r->run;
	const struct plumb_attaching *attaching = run->tool->mechanisms.attaching;
	const struct plumb_in_flight *in_flight = plumb_parts_in_flight(run->tool);
	json_t *j = plumb_json_new(run->tool->card.name);

	set(j, "start", plumb_json_time(&r->start));
	set(j, "end", plumb_json_time(&r->snap->taken));
	set_u64(j, "elapsed_ns", r->elapsed);
	set(j, "run", json_string(plumb_run_id()));
	set_u64(j, "seq", r->seq);
	set(j, "final", json_boolean(r->final));
	set(j, "mechanism", mechanism(run));
	set_u64(j, "precision_bits", run->options.precision);
	if (plumb_has_histogram(run->tool->measure.kind))
		set(j, "unit",
		    json_string(run->tool->measure.kind == PLUMB_SIZES ? "bytes" : "ns"));
	set(j, "overhead_ns", overhead(&run->overhead));
	set(j, "rows", run->tool->view.rows_json ? json_null() : rows(r));
	if (in_flight)
		in_flight->json(j, r);
	set(j, "ledger", ledger(r));
	if (run->no_return)
		set(j, "on_the_way_out", returns(r));
	if (run->tool->options.syscalls)
		set(j, "not_seen", not_seen(run));
	if (run->options.n_cgroups)
		set(j, "cgroups", watched(run));
	if (plumb_pids_are_foreign())
		set(j, "foreign_pids", json_true());
	else if (plumb_pid_namespace())
		set(j, "pid_namespace", json_integer(plumb_pid_namespace()));
	if (attaching && attaching->gone(0))
		set(j, "modules_gone", modules_gone(attaching));
	if (r->own)
		json_object_update(j, r->own);
	else
		plumb_report_add_own(j, r);
	if (r->dump)
		json_object_set(j, "dump", r->dump);
	return j;
}

int plumb_report_json(const struct plumb_report *r, FILE *out)
{
	json_t *j = plumb_report_object(r);

	return r->run->tool->view.rows_json ? plumb_json_print_rows(j, rows_of_tool, r, out)
					    : plumb_json_print(j, out);
}
