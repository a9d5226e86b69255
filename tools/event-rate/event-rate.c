/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/function/function.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/run.h>
#include <plumb/cost/calibrate.h>
#include <plumb/kernel/kernel.h>
#include <plumb/targets/trace-targets.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "event-rate.h"
#include "event-rate.skel.h"
#include "rates.h"

static struct plumb_tool tool;
static bool lists;
static const char *unknown; /* the first word that is no event; NULL: there is none */
static uint32_t *counting;  /* rate_counting of the programs */
static const struct bpf_object *object;

/* --- command line --- */

static const struct plumb_option options[] = {
	{"list", 'l', NULL,
	 "list the events that counters count, and which of them can be counted here", 60,
	 .given = &lists},
	{0},
};

static bool add_event(const char *text, bool number)
{
	const char *target;
	struct event e;

	if (number)
		return false;
	if (!strcmp(text, "help"))
		return lists = true;
	if (event_parse(text, &e)) {
		if (counters_add(&e))
			plumb_usage_error("at most %d events of counters", RATE_MAX_COUNTERS);
		rates_lay_out_columns(&tool);
		return true;
	}
	target = event_target(text);
	if (target)
		return plumb_trace_targets_add(target, false);
	unknown = unknown ?: text;
	return true;
}

static void complete(struct plumb_options *o)
{
	if (lists)
		o->instead = counters_list;
	else if (!counters.n && !plumb_trace_targets.n_patterns && !unknown)
		plumb_usage_error("no event: event-rate EVENT... (-l lists them)");
}

/* --- mechanisms --- */

static uint32_t direct(void)
{
	return counters_of(PERF_COUNT_SW_CONTEXT_SWITCHES, true);
}

static int open_skeleton(struct plumb_bpf *bpf, bool calibration)
{
	struct event_rate_bpf *skel = event_rate_bpf__open_opts(plumb_open_opts());
	struct rate_config *config;
	uint32_t all;

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	PLUMB_TRACE_TARGETS_CONFIGURE(skel, calibration);
	config = (struct rate_config *)&skel->rodata->rate_config;
	config->n = counters.n;
	config->direct = direct();
	config->after = rates_after();
	config->clocks = rates_clocks();
	skel->bss->rate_counting = calibration;
	if (!calibration)
		counting = &skel->bss->rate_counting;
	all = counters.n * libbpf_num_possible_cpus() ?: 1;
	return bpf_map__set_max_entries(skel->maps.rate_events, all)
		       ?: bpf_map__set_max_entries(skel->maps.rate_states, all);
}

/* Names as hooks, from FIRST on, the one at which counters are READ, if any, and their events. */
static void name_hooks(struct plumb_bpf *bpf, size_t first, const char *read)
{
	const size_t last = PLUMB_MAX_HOOKS - 2;

	if (read && first < last)
		snprintf(bpf->hooks[first], sizeof(bpf->hooks[first]), "%s", read);
	first += !!read;
	for (uint32_t i = 0; i < counters.n && first <= last; i++, first++) {
		if (first == last && i + 1 < counters.n)
			snprintf(bpf->hooks[first], sizeof(bpf->hooks[first]), "and %u more",
				 counters.n - i);
		else
			snprintf(bpf->hooks[first], sizeof(bpf->hooks[first]), "%s",
				 counters.events[i].name);
	}
}

static int open_counters(struct plumb_bpf *bpf, bool calibration)
{
	int err = open_skeleton(bpf, calibration);

	if (!err)
		name_hooks(bpf, 0, "sched_switch");
	return err;
}

/* Trace targets, and counters beside them. */
static int open_targets(struct plumb_bpf *bpf, bool calibration)
{
	const struct plumb_targets *t = &plumb_trace_targets.targets;
	int err = open_skeleton(bpf, calibration);

	if (err)
		return err;
	bpf->config->interleaved = counters.n || t->functions.n < t->n;
	if (counters.n)
		name_hooks(bpf, plumb_trace_targets.n_patterns, "sched_switch");
	return 0;
}

static int attach_events(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what,
			 size_t size)
{
	int err = 0;

	for (uint32_t i = 0; i < counters.n && !err; i++) {
		const uint64_t target = PLUMB_TARGET(i, PLUMB_RESULT_NONE, 0);

		snprintf(what, size, "%s", counters.events[i].name);
		err = plumb_probe_software_event(probes, bpf->object, "on_event",
						 counters.events[i].config, &target);
	}
	return err;
}

static int open_events(struct plumb_bpf *bpf, bool calibration)
{
	static const char *const copied[] = {"on_event", NULL};
	int err = open_skeleton(bpf, calibration);

	if (err)
		return err;
	if (!calibration)
		bpf->cpus_left = ((struct event_rate_bpf *)bpf->owner)->bss->plumb_cpus_left;
	bpf->copied = copied;
	bpf->attach = attach_events;
	bpf->config->interleaved = counters.n > 1;
	name_hooks(bpf, 0, NULL);
	return 0;
}

static const char *only_counters(const struct plumb_options *o)
{
	return plumb_trace_targets.n_patterns ? "some events are tracepoints or functions" : NULL;
}

static const char *only_software(const struct plumb_options *o)
{
	for (uint32_t i = 0; i < counters.n; i++)
		if (!event_is_occurrence(&counters.events[i]))
			return "some events are clocks, of the hardware, or have modifiers";
	return only_counters(o);
}

static const char *const on_switch[] = {"on_switch", NULL}, *const on_report[] = {"on_report",
										  NULL};

/* Those of counters, and then those of trace targets, but for user functions. */
static struct plumb_mechanism mechanisms[PLUMB_MAX_MECHANISMS] = {
	{
		.name = "counter",
		.stability = PLUMB_SCHED_STABILITY,
		.unsupported = only_counters,
		.open = open_counters,
		.programs = on_switch,
		.test_runs = on_report,
	},
	{
		.name = "perf_event",
		.stability = "stable",
		.unsupported = only_software,
		.open = open_events,
	},
};

/* Appends mechanisms of trace targets to the first N; returns how many there are then. */
static size_t append_mechanisms(size_t n, const struct plumb_mechanism *from, size_t n_from)
{
	for (size_t i = 0; i < n_from && n < PLUMB_MAX_MECHANISMS; i++) {
		if (!strncmp(from[i].name, "uprobe", strlen("uprobe")) ||
		    from[i].open == open_counters || from[i].open == open_events)
			continue;
		mechanisms[n] = from[i];
		mechanisms[n].programs = counters.n ? on_switch : NULL;
		mechanisms[n++].test_runs = counters.n ? on_report : NULL;
	}
	return n;
}

/* --- the run --- */

static int prepare_targets(struct plumb_options *o)
{
	int err = plumb_trace_targets_find(&tool, o);

	if (err)
		return err;
	tool.mechanisms.n = append_mechanisms(0, tool.mechanisms.list, tool.mechanisms.n);
	tool.mechanisms.list = mechanisms;
	return 0;
}

/* What the cost is measured on: a function that is probed, or a context switch. */
static void choose_overhead(void)
{
	if (plumb_trace_targets_ask_for(PLUMB_TARGET_FUNCTION)) {
		tool.overhead.traced = "a kernel function's call (not measured: a context switch)";
		return;
	}
	tool.overhead.switches = &plumb_switches;
	tool.overhead.traced = plumb_trace_targets.n_patterns
				       ? "a context switch (not measured: a tracepoint's fire)"
				       : "a context switch";
}

static int prepare(struct plumb_options *o)
{
	char text[128];
	int err = 0;

	if (unknown)
		return plumb_error(ENOENT, "no such event: %s%s (-l lists them)", unknown,
				   event_suggest(unknown, text, sizeof(text)));
	o->by |= PLUMB_BY_TARGET;
	if (counters.n)
		err = counters_open(direct());
	if (!err && plumb_trace_targets.n_patterns)
		err = prepare_targets(o);
	if (!err && counters.n)
		choose_overhead();
	return err;
}

static int fill(struct bpf_object *loaded)
{
	return counters.n ? counters_fill(loaded) : 0;
}

/* The first time, what the counters have counted so far is dropped. */
static void settle(const struct plumb_run *run)
{
	object = run->instance.bpf.object;
	if (run->instance.mechanism->test_runs)
		counters_settle(object);
	*counting = 1;
}

/* The cost of a switch, if there are counters, has been measured by now. */
static void calibrate(struct plumb_run *run)
{
	if (plumb_trace_targets.n_patterns && !counters.n)
		plumb_trace_targets_calibrate(run);
	if (run->instance.mechanism->open != open_events)
		return;
	run->overhead = (struct plumb_overhead){.how = "nothing to trigger"};
	if ((counters_of(PERF_COUNT_SW_PAGE_FAULTS, true) |
	     counters_of(PERF_COUNT_SW_PAGE_FAULTS_MIN, true)) &&
	    plumb_calibrate(run, plumb_page_fault))
		tool.overhead.traced = "a page fault";
}

static void finish(const struct plumb_run *run, const struct plumb_snapshot *total,
		   uint64_t elapsed)
{
	rates_finish(total, elapsed, object);
}

static void print_footer(FILE *out)
{
	rates_print_counters(object, out);
	if (counters.n && plumb_trace_targets.n_patterns)
		fputs("names: counters are charged to the name and cgroup that a thread has when "
		      "it\n    leaves its CPU, tracepoints and functions to those of the moment\n",
		      out);
}

static struct plumb_tool tool = {
	.card.name = "event-rate",
	.card.summary = "Count software and hardware events, tracepoints and kernel functions per "
			"second, by process, thread, name, cgroup or CPU.",
	.card.about =
		"hooks:     perf counters on each CPU, read by a raw tracepoint program on\n"
		"           sched_switch (stable-ish); tracepoints (stable); kernel functions\n"
		"           (unstable) by fentry, kprobe.multi or kprobe\n"
		"kernels:   5.10, 6.12, 7.3 emulated, 6.18 locked down (without kernel\n"
		"           functions); x86_64\n"
		"fire rate: each context switch of the machine, 1,000 to 1,000,000 a second;\n"
		"           that of the tracepoints and functions\n"
		"cost:      see the footer\n",
	.options.list = options,
	.options.lacks = PLUMB_NO_HISTOGRAM_OPTIONS | PLUMB_NO_TIME_OPTIONS,
	.options.complete = complete,
	.options.arguments = "EVENT... ",
	.options.argument = add_event,
	.keys.fields = &rates_field,
	.keys.n_fields = 1,
	.keys.size = sizeof(struct event_rate_key),
	.keys.default_by = PLUMB_BY_TARGET | PLUMB_BY_PID | PLUMB_BY_COMM,
	.keys.max = 4096,
	.measure.kind = PLUMB_COUNTS,
	.measure.counted = "events",
	.measure.unlike = true,
	.view.footer = print_footer,
	.view.report_json = rates_add_json,
	.overhead.calibrate = calibrate,
	.mechanisms.list = mechanisms,
	.mechanisms.functions = &plumb_trace_targets.targets.functions,
	.mechanisms.attaching = &plumb_attaching,
	.lifecycle.prepare = prepare,
	.lifecycle.fill = fill,
	.lifecycle.settle = settle,
	.lifecycle.reports_first = true,
	.lifecycle.finish = finish,
};

int main(int argc, char **argv)
{
	plumb_trace_targets.open = open_targets;
	tool.mechanisms.n = append_mechanisms(2, plumb_trace_targets_mechanisms,
					      PLUMB_TRACE_TARGETS_MECHANISMS);
	return plumb_main(argc, argv, &tool);
}
