/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <plumb/costs.h>
#include <plumb/log.h>
#include <plumb/session.h>
#include <plumb/trial.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "func-count.h"
#include "survey.h"

#define SURVEY_NS 5000000000ULL

/* Each of which is waited for when it is removed, some 10 to 150 ms. */
#define SLOW 50

static struct plumb_tool tool;

static void add_pattern(const char *text)
{
	const char *flaw = target_flaw(text);

	if (flaw)
		plumb_usage_error("%s: %s", flaw, text);
	if (survey.n_patterns == PLUMB_MAX_LIST)
		plumb_usage_error("at most %d targets or globs", PLUMB_MAX_LIST);
	survey.patterns[survey.n_patterns++] = text;
	survey_lay_out_columns(&tool);
}

static int parse(int key, char *text, struct argp_state *state, struct plumb_options *o)
{
	(void)text;
	(void)state;
	(void)o;
	if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	if (!survey.n_patterns)
		plumb_usage_error("what is to be counted? func-count TARGET...");
	return 0;
}

static void (*const provoke[TARGET_KINDS])(void) = {
	[TARGET_TRACEPOINT] = plumb_trial_rename,
	[TARGET_USER] = plumb_trial_call,
};

/* Each mechanism that holds here and is not known, on something that the tool can provoke. */
static void measure_all(struct plumb_session *s)
{
	double ns[MECHANISMS] = {};

	for (int m = 0; m < MECHANISMS; m++) {
		const struct cost *c = &costs[m];

		if (!survey_asks_for(c->kind) || c->source == KEPT)
			continue;
		if (s->overhead.known && !strcmp(s->instance.rung->name, c->name))
			ns[m] = s->overhead.traced;
		else
			ns[m] = plumb_calibrate_rung(s, survey_rung_of(c), PLUMB_TWIN_TAKES,
						     provoke[c->kind]);
	}
	cost_measured(ns);
	survey_lay_out_columns(&tool);
}

/* The library measures rungs on kernel functions only. */
static void note_overhead(struct plumb_session *s)
{
	const struct plumb_rung *rung = s->instance.rung;

	double traced;

	for (const struct cost *c = costs; c < costs + MECHANISMS && !s->overhead.known; c++) {
		if (strcmp(rung->name, c->name))
			continue;
		/* What was kept is of a program that does less. */
		traced = c->source == MEASURED ? c->ns
					       : plumb_calibrate_rung(s, rung, PLUMB_TWIN_TAKES,
								      provoke[c->kind]);
		if (traced <= 0)
			continue;
		s->overhead = (struct plumb_overhead){
			.known = true,
			.traced = traced,
			.filtered =
				plumb_calibrate_rung(s, rung, PLUMB_TWIN_REJECTS, provoke[c->kind]),
			.how = "calibrated",
		};
	}
}

static void calibrate(struct plumb_session *s)
{
	static bool done;

	if (!done)
		measure_all(s);
	done = true;
	note_overhead(s);
}

static void take_kept(void)
{
	json_t *kept = plumb_costs_load();

	if (!kept)
		return;
	cost_take_kept(kept);
	json_decref(kept);
	survey_lay_out_columns(&tool);
}

static int prepare(struct plumb_options *o)
{
	int err = targets_find(&survey.targets, survey.patterns, survey.n_patterns, o->btf);

	if (err)
		return err;
	if (survey.targets.n > 1)
		o->by |= FUNC_COUNT_BY_FUNC;
	if (!o->max_keys_given && o->max_keys < survey.targets.n)
		o->max_keys = survey.targets.n;
	if (!o->duration && !o->interval && !o->command)
		o->duration = SURVEY_NS;
	if (survey.targets.n <= PLUMB_FEW && !o->mechanism) {
		tool.rungs = survey_few;
		tool.n_rungs = survey_n_few;
	}
	survey.options = o;
	take_kept();
	plumb_info("%zu targets", survey.targets.n);
	return 0;
}

/* Where rows are by target only, each has its slot from the start. */
static int fill(struct bpf_object *object)
{
	struct bpf_map *keys = bpf_object__find_map_by_name(object, "plumb_keys");
	size_t n = bpf_map__max_entries(keys); /* a twin has one */

	for (uint32_t i = 0;
	     survey.options->by == FUNC_COUNT_BY_FUNC && i < survey.targets.n && i < n; i++) {
		struct func_count_key key = {.target = i};
		uint32_t slot = i + 1;

		if (bpf_map_update_elem(bpf_map__fd(keys), &key, &slot, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Which targets stayed silent: each by name if they are few. */
static void finish(const struct plumb_session *s, const struct plumb_snapshot *total,
		   uint64_t elapsed)
{
	bool *fired = calloc(survey.targets.n, sizeof(*fired));
	size_t silent = survey.targets.n, refused = s->instance.probes.refused;
	char name[256];

	if (s->instance.probes.n > SLOW)
		plumb_warn("the kernel takes its time to remove %zu probes one by one",
			   s->instance.probes.n);
	if (refused)
		plumb_warn("%zu of %zu targets could not be attached to (-v says which)", refused,
			   survey.targets.n);
	if (!fired)
		return;
	for (size_t i = 0; i < total->n; i++) {
		size_t target;

		if (!total->rows[i].slot) /* [other]: it may be any */
			goto out;
		target = survey_target_of(&total->rows[i]);
		if (!total->rows[i].count || fired[target])
			continue;
		fired[target] = true;
		silent--;
	}
	silent -= refused < silent ? refused : silent;
	if (silent > PLUMB_FEW || refused) {
		if (silent)
			plumb_warn("%zu of %zu targets: 0 calls in %.3g s", silent,
				   survey.targets.n, elapsed / 1e9);
		goto out;
	}
	for (size_t i = 0; i < survey.targets.n && silent; i++)
		if (!fired[i])
			plumb_warn("%s: 0 calls in %.3g s",
				   targets_name(&survey.targets, i, false, name, sizeof(name)),
				   elapsed / 1e9);
out:
	free(fired);
}

static const struct argp_option options[] = {{0}};

static struct plumb_tool tool = {
	.name = "func-count",
	.question = "What does the kernel do most often: the fire rate of functions, tracepoints "
		    "and user functions, and what probing them would cost.",
	.about =
		"hooks:     fentry.multi, fentry, kprobe.multi, kprobe on kernel functions\n"
		"           (unstable: another kernel may have them inlined, renamed or gone),\n"
		"           raw tracepoints and tracepoints (stable), uprobes on user functions\n"
		"kernels:   5.10, 6.1, 6.12, 7.2 emulated, 6.18 locked down (without kernel\n"
		"           functions); x86_64\n"
		"fire rate: what it finds out: a survey, by default of 5 seconds\n"
		"cost:      by mechanism, of probe-cost or measured at the start, see the footer\n",
	.options = options,
	.parse = parse,
	.arguments = "TARGET... ",
	.argument = add_pattern,
	.prepare = prepare,
	.calibrate = calibrate,
	.finish = finish,
	.fill = fill,
	.fields = survey_fields,
	.key_size = sizeof(struct func_count_key),
	.default_by = FUNC_COUNT_BY_FUNC,
	.counts_only = true,
	.no_errors = true,
	.counts_live = true,
	.row_json = survey_add_json,
	.footer = survey_print_footer,
	.functions = &survey.targets.functions,
	.rungs = survey_many,
};

int main(int argc, char **argv)
{
	tool.n_fields = survey_n_fields;
	tool.n_rungs = survey_n_many;
	return plumb_main(argc, argv, &tool);
}
