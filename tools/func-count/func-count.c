/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <plumb/core/log.h>
#include <plumb/cost/costs.h>
#include <plumb/recorder/slots.h>
#include <plumb/targets/trace-targets.h>

#include "func-count.h"
#include "func-count.skel.h"
#include "cost.h"

#define SURVEY_NS 5000000000ULL

static struct plumb_tool tool;
static const struct plumb_options *options_in_force;

static bool add_pattern(const char *text, bool number)
{
	bool taken = plumb_trace_targets_add(text, number);

	if (taken)
		survey_lay_out_columns(&tool);
	return taken;
}

static void complete(struct plumb_options *o)
{
	if (!plumb_trace_targets.n_patterns)
		plumb_usage_error("no target: func-count TARGET...");
}

/* The ns that a fire adds; 0: not known. */
static double measure(struct plumb_run *run, const struct cost *c, bool is_stepped)
{
	struct plumb_interval added;

	if (!plumb_trace_targets_measure(run, survey_mechanism_of(c), is_stepped, &added))
		return 0;
	return added.median;
}

/*
 * Measure each mechanism for these kinds of target, on an event that the tool can trigger, unless
 * probe-cost has measured it.
 */
static void measure_all(struct plumb_run *run)
{
	double ns[MECHANISMS] = {}, stepped_ns[MECHANISMS] = {};
	const bool are_stepped = plumb_trace_targets.targets.stepped[true];

	for (int m = 0; m < MECHANISMS; m++) {
		const struct cost *c = &costs[m];

		if (!plumb_trace_targets_ask_for(c->kind))
			continue;
		if (c->kind == PLUMB_TARGET_USER && are_stepped)
			stepped_ns[m] = measure(run, c, true);
		if (c->source == KEPT)
			continue;
		if (run->overhead.known && !strcmp(run->instance.mechanism->name, c->name))
			ns[m] = run->overhead.traced.median;
		else
			ns[m] = measure(run, c, false);
	}
	cost_measured(ns);
	cost_measured_stepped(stepped_ns);
	survey_lay_out_columns(&tool);
}

static void calibrate(struct plumb_run *run)
{
	static bool done;

	if (!done)
		measure_all(run);
	done = true;
	plumb_trace_targets_calibrate(run);
}

static void take_kept(void)
{
	struct plumb_kept_cost kept[MECHANISMS] = {};
	double ns[MECHANISMS];
	char date[16];

	for (int m = 0; m < MECHANISMS; m++)
		kept[m] = (struct plumb_kept_cost){costs[m].kept_as, "counter", 0};
	if (!plumb_costs_load(kept, MECHANISMS, date, sizeof(date)))
		return;
	for (int m = 0; m < MECHANISMS; m++)
		ns[m] = kept[m].ns;
	cost_kept(ns, date);
	survey_lay_out_columns(&tool);
}

static int prepare(struct plumb_options *o)
{
	int err = plumb_trace_targets_find(&tool, o);
	size_t n = plumb_trace_targets.targets.n;

	if (err)
		return err;
	if (!o->max_keys_given && o->max_keys < n)
		o->max_keys = n;
	if (!o->duration && !o->interval && !o->command)
		o->duration = SURVEY_NS;
	options_in_force = o;
	take_kept();
	return 0;
}

static int open_counters(struct plumb_bpf *bpf, bool calibration)
{
	struct func_count_bpf *skel = func_count_bpf__open_opts(plumb_open_opts());
	const struct plumb_targets *t = &plumb_trace_targets.targets;

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	PLUMB_TRACE_TARGETS_CONFIGURE(skel, calibration);
	bpf->own_slots =
		options_in_force->by == PLUMB_BY_TARGET && t->n <= options_in_force->max_keys;
	bpf->config->interleaved = !bpf->own_slots && t->functions.n < t->n; /* several programs */
	return 0;
}

/* If the target is the only key, give each target its slot before the trace. */
static int fill(struct bpf_object *object)
{
	size_t n = options_in_force->by == PLUMB_BY_TARGET ? plumb_trace_targets.targets.n : 0;
	struct func_count_key key = {};
	int err = 0;

	for (; key.target < n && !err; key.target++)
		err = plumb_slot_fill(object, key.target, &key);
	return err;
}

static struct plumb_tool tool = {
	.card.name = "func-count",
	.card.summary = "Count how often kernel functions, tracepoints and user functions fire, "
			"and estimate what probing them would cost.",
	.card.about =
		"hooks:     fentry.multi, fentry, kprobe.multi, kprobe on kernel functions\n"
		"           (unstable: another kernel may not have them),\n"
		"           raw tracepoints and tracepoints (stable), uprobes on user functions\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down (without kernel\n"
		"           functions); x86_64\n"
		"fire rate: that of the targets; without -d for 5 seconds\n"
		"cost:      by mechanism, from probe-cost or measured at the start, see\n"
		"           the footer\n",
	.options.complete = complete,
	PLUMB_TRACE_TARGETS_TOOL,
	.options.duration = "5 without INTERVAL or command",
	.options.argument = add_pattern,
	.options.lacks = PLUMB_NO_HISTOGRAM_OPTIONS | PLUMB_NO_TIME_OPTIONS,
	.keys.size = sizeof(struct func_count_key),
	.keys.default_by = PLUMB_BY_TARGET,
	.view.footer = survey_print_footer,
	.view.row_json = survey_add_json,
	.overhead.calibrate = calibrate,
	.lifecycle.prepare = prepare,
	.lifecycle.fill = fill,
};

int main(int argc, char **argv)
{
	plumb_trace_targets.open = open_counters;
	plumb_trace_targets.target_at = offsetof(struct func_count_key, target);
	return plumb_main(argc, argv, &tool);
}
