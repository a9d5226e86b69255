/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <plumb/core/log.h>
#include <plumb/core/tracer.h>
#include <plumb/functions/probe.h>
#include <plumb/stacks/stacks.h>

#include "cpu-profile.h"
#include "cpu-profile.skel.h"

/* Not in step with what programs and kernels do 100 or 1000 times a second. */
#define FREQUENCY 99

static __u64 frequency = FREQUENCY;
static const struct cpu_profile_rest *rest;

/* clang-format off */
static const struct plumb_option options[] = {
	{"frequency", 'F', "HZ", "samples per second on each CPU; default 99 (or 199, 499, 997)", 60, .number = &frequency, .min = 1, .max = 10000},
	PLUMB_STACK_OPTIONS,
	{0},
};
/* clang-format on */

static int attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what, size_t size)
{
	return plumb_probe_samples(probes, bpf->object, "on_sample", frequency, what, size);
}

static const char *const copied[] = {"on_sample", NULL};

static int open_samples(struct plumb_bpf *bpf, bool calibration)
{
	struct cpu_profile_bpf *skel = cpu_profile_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "cpu-clock");
	if (!calibration)
		bpf->cpus_left = skel->bss->plumb_cpus_left;
	bpf->copied = copied;
	bpf->attach = attach;
	rest = &skel->bss->rest;
	return 0;
}

static void print_footer(FILE *out)
{
	if (!plumb_verbosity)
		return;
	fprintf(out, "besides: %llu samples of idle CPUs, %llu of excluded threads\n",
		(unsigned long long)rest->idle, (unsigned long long)rest->others);
}

/*
 * Samples of the report's interval only, like those in its rows.  An interval may be reported
 * several times, first while it goes on.
 */
static void add_json(json_t *json, const struct plumb_report *r)
{
	static struct cpu_profile_rest before, last;
	static uint64_t seq;
	struct cpu_profile_rest now = *rest;

	if (r->seq != seq)
		before = last;
	seq = r->seq;
	json_object_set_new(json, "frequency", plumb_json_u64(frequency));
	json_object_set_new(json, "idle", plumb_json_u64(now.idle - before.idle));
	json_object_set_new(json, "others", plumb_json_u64(now.others - before.others));
	last = now;
}

static const struct plumb_mechanism mechanisms[] = {
	{
		.name = "perf_event",
		.stability = "stable",
		.open = open_samples,
	},
};

int main(int argc, char **argv)
{
	struct plumb_tool tool = {
		.card.name = "cpu-profile",
		.card.summary = "Sample where CPUs spend their time, as kernel and user stacks.",
		.card.about =
			"hooks:     perf event cpu-clock, 99 times a second on each CPU (stable)\n"
			"kernels:   5.10, 6.1, 6.12, 7.3 emulated, 6.18 locked down; x86_64\n"
			"fire rate: 99 a second on each CPU\n"
			"cost:      19 us a sample (AMD EPYC, 6.18), 0.2 % of a CPU at 99 a "
			"second;\n"
			"           the footer shows the part of the BPF programs\n",
		.options.list = options,
		.options.lacks = PLUMB_NO_COLUMN_OPTIONS,
		.keys.size = sizeof(struct plumb_stack_key),
		.keys.default_by = PLUMB_BY_COMM,
		.keys.max = 16384,
		.measure.kind = PLUMB_COUNTS,
		.measure.sampled = true,
		.view = {.report_json = add_json, .footer = print_footer},
		.overhead.traced = "a sample",
		.mechanisms.list = mechanisms,
		.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
		.lifecycle.reports_first = true,
		.stacking = &plumb_stacking,
	};

	return plumb_main(argc, argv, &tool);
}
