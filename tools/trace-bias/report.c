/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <plumb/core/json.h>
#include <plumb/core/text.h>
#include <plumb/terminal/text-table.h>

static const char *const names[MEASURES] = {"wall", "cpu", "metric"};
static const char *const verdicts[] = {"unbiased", "not enough runs", "biased"};

static enum verdict worst(const struct comparison *c)
{
	enum verdict v = UNBIASED;

	for (size_t m = 0; m < c->measures; m++)
		if (c->of[m].verdict > v)
			v = c->of[m].verdict;
	return v;
}

enum verdict report_judge(struct comparison *c)
{
	double *without = calloc(c->n, sizeof(*without)), *with = calloc(c->n, sizeof(*with));

	if (!without || !with)
		abort();
	for (size_t m = 0; m < c->measures; m++) {
		for (size_t i = 0; i < c->n; i++) {
			without[i] = c->pairs[i].without.values[m];
			with[i] = c->pairs[i].with.values[m];
		}
		c->of[m] = judge(without, with, c->n, c->limit, c->seed);
	}
	free(without);
	free(with);
	return worst(c);
}

static void add_value(struct plumb_text_table *g, size_t measure, double value)
{
	char text[32];

	if (measure == METRIC)
		plumb_text_table_cell(g, "%.6g", value);
	else
		plumb_text_table_cell(g, "%s",
				      plumb_format_time(value, PLUMB_AUTO, text, sizeof(text)));
}

static void add_verdict(struct plumb_text_table *g, const struct judgement *j)
{
	if (j->verdict != UNDECIDED)
		plumb_text_table_cell(g, "%s", verdicts[j->verdict]);
	else
		plumb_text_table_cell(g, "%s: %s %" PRIu64 " more", verdicts[j->verdict],
				      j->more == JUDGE_MOST ? "over" : "about", j->more);
}

void report_print_table(const struct comparison *c)
{
	static const char *const headings[] = {"MEASURE", ">WITHOUT", ">WITH",  ">CHANGE",
					       ">LOW",    ">HIGH",    "VERDICT"};
	struct plumb_text_table *g = plumb_text_table_new(headings, 7);
	json_t *notes = notes_list(&c->notes), *note;
	size_t i;

	for (size_t m = 0; m < c->measures; m++) {
		const struct judgement *j = &c->of[m];

		plumb_text_table_cell(g, "%s", names[m]);
		add_value(g, m, j->without);
		add_value(g, m, j->with);
		plumb_text_table_cell(g, "%+.2f%%", j->change.median);
		plumb_text_table_cell(g, "%+.2f%%", j->change.low);
		plumb_text_table_cell(g, "%+.2f%%", j->change.high);
		add_verdict(g, j);
	}
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
	printf("\n%s: %zu pairs, seed %" PRIu64 "; 95 %% intervals, limit %g %%\n",
	       verdicts[worst(c)], c->n, c->seed, c->limit);
	json_array_foreach(notes, i, note) printf("  %s\n", json_string_value(note));
	json_decref(notes);
}

static json_t *measure_json(const struct comparison *c, size_t m)
{
	const struct judgement *j = &c->of[m];
	json_t *o =
		json_pack("{s:s, s:s?, s:f, s:f, s:{s:f, s:f, s:f}, s:s}", "name", names[m], "unit",
			  m == METRIC ? NULL : "ns", "without", j->without, "with", j->with,
			  "change_percent", "median", j->change.median, "low", j->change.low,
			  "high", j->change.high, "verdict", verdicts[j->verdict]);

	if (j->verdict == UNDECIDED)
		json_object_set_new(o, "more_pairs", plumb_json_u64(j->more));
	return o;
}

static json_t *run_json(const struct comparison *c, const struct run *run)
{
	json_t *o = json_object();

	for (size_t m = 0; m < c->measures; m++)
		json_object_set_new(o, names[m], json_real(run->values[m]));
	json_object_set_new(o, "migrations", plumb_json_u64(run->migrations));
	return o;
}

static json_t *pair_json(const struct comparison *c, const struct pair *pair)
{
	return json_pack("{s:s, s:o, s:o}", "first", pair->with_first ? "with" : "without",
			 "without", run_json(c, &pair->without), "with", run_json(c, &pair->with));
}

void report_print_json(const struct comparison *c)
{
	json_t *o = plumb_json_new("trace-bias"), *workload = json_array(),
	       *measures = json_array(), *pairs = json_array();

	for (char **word = c->plan->workload; *word; word++)
		json_array_append_new(workload, plumb_json_text(*word));
	for (size_t m = 0; m < c->measures; m++)
		json_array_append_new(measures, measure_json(c, m));
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(pairs, pair_json(c, &c->pairs[i]));
	json_object_set_new(o, "start", plumb_json_time(&c->start));
	json_object_set_new(o, "end", plumb_json_time(&c->end));
	json_object_set_new(o, "traced_by", plumb_json_text(c->plan->tool));
	json_object_set_new(o, "workload", workload);
	json_object_set_new(o, "limit_percent", json_real(c->limit));
	json_object_set_new(o, "seed", plumb_json_u64(c->seed));
	json_object_set_new(o, "verdict", json_string(verdicts[worst(c)]));
	json_object_set_new(o, "measures", measures);
	json_object_set_new(o, "notes", notes_list(&c->notes));
	json_object_set_new(o, "pairs", pairs);
	plumb_json_print(o, stdout);
}
