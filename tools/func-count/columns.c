/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/report.h>
#include <plumb/core/run.h>
#include <plumb/cost/costs.h>

#include "cost.h"

/* Fires per second of the row's target, summed over its rows: the probe fires for all of them. */
static double target_rate(const struct plumb_report *r, const struct plumb_row *row)
{
	double rate = 0;

	if (r->run->options.by == PLUMB_BY_TARGET)
		return plumb_row_rate(r, row);
	for (size_t i = 0; i < r->snap->n; i++)
		if (r->snap->rows[i].slot &&
		    plumb_trace_targets_index(&r->snap->rows[i]) == plumb_trace_targets_index(row))
			rate += plumb_row_rate(r, &r->snap->rows[i]);
	return rate;
}

/* Columns that are not of a mechanism. */
enum { LEAST = MECHANISMS, MOST, VERDICT };

/* Return whether the mechanism of C supports the target: fentry takes only functions in BTF. */
static bool is_for(const struct cost *c, size_t target)
{
	const struct plumb_functions *f = &plumb_trace_targets.targets.functions;

	return c->kind != PLUMB_TARGET_FUNCTION || target >= f->n || f->all[target].btf_id ||
	       (c != &costs[FENTRY] && c != &costs[FENTRY_MULTI]);
}

/* Whether the kernel single-steps at a probe of it. */
static bool is_stepped(size_t target)
{
	const struct plumb_userfunc *u =
		plumb_targets_at(&plumb_trace_targets.targets, target).userfunc;

	return u && u->is_stepped;
}

static double ns_of(const struct cost *c, size_t target)
{
	return is_stepped(target) ? c->stepped_ns : c->ns;
}

/* The mechanism whose cost is in column ID of this row; NULL: none. */
static const struct cost *cost_of(int id, const struct plumb_row *row)
{
	const struct cost *c;
	struct plumb_target t;
	size_t target;

	if (!row->slot || id == VERDICT)
		return NULL;
	target = plumb_trace_targets_index(row);
	t = plumb_targets_at(&plumb_trace_targets.targets, target);
	c = id < LEAST ? &costs[id] : cost_extreme(t.kind, id == MOST);
	if (c == &costs[RAW_TRACEPOINT] && !(t.tracepoint && t.tracepoint->is_raw))
		c = id < LEAST ? NULL : &costs[TRACEPOINT];
	if (id == LEAST && c && !is_for(c, target))
		c = &costs[costs[KPROBE_MULTI].ns > 0 ? KPROBE_MULTI : KPROBE];
	return c && c->kind == t.kind && ns_of(c, target) > 0 && is_for(c, target) ? c : NULL;
}

static double column_value(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	const struct cost *c = cost_of(id, row);

	if (id == VERDICT)
		return row->slot ? target_rate(r, row) : 0;
	return c ? plumb_cost_percent(ns_of(c, plumb_trace_targets_index(row)),
				      plumb_row_rate(r, row))
		 : NAN;
}

static const char *verdict_of(int id, const struct plumb_report *r, const struct plumb_row *row)
{
	const struct cost *c = cost_of(MOST, row);
	double rate;

	if (!row->slot)
		return NULL;
	rate = target_rate(r, row);
	/* Of a user function the instruction matters as much as the rate. */
	if (!c || c->kind != PLUMB_TARGET_USER)
		return cost_verdict(rate, 0);
	return cost_verdict(rate,
			    plumb_cost_percent(ns_of(c, plumb_trace_targets_index(row)), rate));
}

static json_t *json_cost(const struct cost *c, size_t target, double rate)
{
	const double ns = ns_of(c, target);
	const char *how = is_stepped(target) ? "measured" : cost_how(c);

	return json_pack("{s:f,s:s,s:f}", "ns", ns, "how", how, "cpu_percent",
			 plumb_cost_percent(ns, rate));
}

void survey_add_json(json_t *row_json, const struct plumb_report *r, const struct plumb_row *row)
{
	double rate = plumb_row_rate(r, row);
	json_t *all = json_object();

	for (int m = 0; m < MECHANISMS; m++)
		if (cost_of(m, row))
			json_object_set_new(
				all, costs[m].name,
				json_cost(&costs[m], plumb_trace_targets_index(row), rate));
	json_object_set_new(row_json, "cost", all);
}

void survey_print_footer(FILE *out)
{
	bool there_is[PLUMB_TARGET_KINDS];

	for (int kind = 0; kind < PLUMB_TARGET_KINDS; kind++)
		there_is[kind] = plumb_trace_targets_ask_for(kind);
	cost_print(there_is, out);
}

/*
 * Columns of each mechanism's share of a CPU; if kinds are mixed, of the least and the most.  JSON
 * has them in "cost".
 */
void survey_lay_out_columns(struct plumb_tool *tool)
{
	static const struct plumb_column verdict = {
		"verdict",
		PLUMB_COLUMN_TEXT,
		"A recommendation based on the rate of the whole target.",
		.id = VERDICT,
		.value = column_value,
		.text = verdict_of};
	static struct plumb_column columns[MECHANISMS + 3];
	struct plumb_column share = {.kind = PLUMB_COLUMN_PERCENT, .value = column_value};
	int kinds = 0, n = 0;

	for (int kind = 0; kind < PLUMB_TARGET_KINDS; kind++)
		kinds += plumb_trace_targets_ask_for(kind);
	for (share.id = 0; share.id <= MOST; share.id++) {
		if (share.id >= MECHANISMS)
			share.name = share.id == LEAST ? "%least" : "%most";
		else
			share.name = plumb_trace_targets_ask_for(costs[share.id].kind) &&
						     costs[share.id].ns > 0
					     ? costs[share.id].heading
					     : NULL;
		if (share.name && (kinds > 1) == (share.id >= MECHANISMS))
			columns[n++] = share;
	}
	columns[n++] = verdict;
	columns[n] = (struct plumb_column){};
	tool->measure.columns = columns;
}

const struct plumb_mechanism *survey_mechanism_of(const struct cost *c)
{
	for (size_t i = 0; i < PLUMB_TRACE_TARGETS_MECHANISMS; i++)
		if (!strcmp(plumb_trace_targets_mechanisms[i].name, c->name))
			return &plumb_trace_targets_mechanisms[i];
	return NULL;
}
