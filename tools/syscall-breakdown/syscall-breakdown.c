/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/cli.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/percentile.h>
#include <plumb/core/report.h>
#include <plumb/core/tool.h>
#include <plumb/kernel/kernel.h>
#include <plumb/stacks/stacks.h>
#include <plumb/syscalls/syscall-options.h>

#include "callers.h"
#include "inside.h"
#include "tree.h"
#include "syscall-breakdown.h"
#include "syscall-breakdown.skel.h"

#define FREQUENCY 997
#define PERCENT   0.5 /* smaller branches are not printed */

#define FIRST_PASS 1000000000ULL /* ns: minimum length of the first pass */

static __u64 frequency; /* 0: not given */
static uint64_t above;  /* p of plumb_percentile(); 0: all calls */
static const char *above_name;
static struct syscall_breakdown_bpf *programs;

/* The first pass of --above, and its result. */
static struct {
	bool over;
	uint64_t calls, ns;
} first_pass;

static struct plumb_tool tool;

static void set_above(const char *option, const char *text, struct plumb_options *o)
{
	if (plumb_parse_fixed(text, 6, 1, 100 * PLUMB_PERCENT - 1, &above))
		plumb_usage_error("%s: a percentile above 0 and below 100: %s", option, text);
	above_name = text;
}

static void set_inside(const char *option, const char *item, struct plumb_options *o)
{
	inside_add(item);
	inside_become(&tool, &plumb_syscall_selection);
}

/* clang-format off */
static const struct plumb_option options[] = {
	{"min", 0, "TIME", "calls that took at least TIME (10us, 1.5ms, 2s)", 30, .time = &plumb_syscall_selection.min_ns},
	{"above", 0, "PERCENTILE", "calls above this percentile of latency, which is measured first, for at least 1 s", 30, .parse = set_above},
	{"function", 'f', "FUNC[,...]", "time these functions (globs) inside the calls, instead of sampling", 30, .item = set_inside},
	PLUMB_OPTION_NO_RETURN("call"),
	{"frequency", 'F', "HZ", "samples per second on each CPU; default 997", 60, .number = &frequency, .min = 1, .max = 10000},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	const uint64_t min = plumb_syscall_selection.min_ns;

	if (inside_is_asked() && !plumb_syscall_selection.selected)
		plumb_usage_error("-f takes system calls: syscall-breakdown -s NAME -f FUNC");
	if (above && min)
		plumb_usage_error("--min and --above exclude each other");
	if (inside_is_asked() && (above || min))
		plumb_usage_error("-f times all calls: it excludes --min and --above");
	if (inside_is_asked() && frequency)
		plumb_usage_error("-F has no effect with -f: use one");
}

static int attach(const struct plumb_bpf *bpf, struct plumb_probes *probes, char *what, size_t size)
{
	return plumb_probe_samples(probes, bpf->object, "on_sample", frequency ?: FREQUENCY, what,
				   size);
}

static const char *const copied[] = {"on_sample", NULL};

static int open_tracepoints(struct plumb_bpf *bpf, bool calibration)
{
	struct syscall_breakdown_bpf *skel = syscall_breakdown_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "sys_enter", "sys_exit", "sched_switch", "sched_waking",
			    "cpu-clock");
	bpf->config->split = 1;
	bpf->copied = copied;
	bpf->attach = attach;
	skel->bss->breakdown_min = plumb_syscall_selection.min_ns;
	skel->bss->breakdown_pass = above && !calibration ? BREAKDOWN_FIRST : BREAKDOWN_ALL;
	if (!calibration) {
		programs = skel;
		bpf->cpus_left = skel->bss->plumb_cpus_left;
	}
	bpf->syscalls = (struct syscall_config *)&skel->rodata->syscall_config;
	return 0;
}

/* Read the first pass.  With MAY_END it ends as soon as the percentile has enough calls. */
static void look_at_first_pass(bool may_end)
{
	struct plumb_bucket buckets[BREAKDOWN_BUCKETS];
	struct plumb_dist d = {buckets, 0, BREAKDOWN_PRECISION, .max = UINT64_MAX};

	if (first_pass.over)
		return;
	first_pass.calls = 0;
	for (uint32_t i = 0; i < BREAKDOWN_BUCKETS; i++) {
		/* Once: the programs go on counting. */
		const uint64_t count =
			__atomic_load_n(&programs->bss->breakdown_first[i], __ATOMIC_RELAXED);

		first_pass.calls += count;
		if (count)
			buckets[d.n++] = (struct plumb_bucket){i, count};
	}
	if (may_end && first_pass.calls && !plumb_percentile_is_weak(first_pass.calls, above)) {
		first_pass.over = true;
		first_pass.ns = plumb_percentile(&d, above);
		programs->bss->breakdown_min = first_pass.ns + 1;
		programs->bss->breakdown_pass = BREAKDOWN_ABOVE;
	}
}

static uint64_t tick(uint64_t elapsed)
{
	if (!above)
		return 0;
	look_at_first_pass(elapsed >= FIRST_PASS);
	return first_pass.over ? 0 : elapsed + FIRST_PASS;
}

static void print_above(FILE *out)
{
	unsigned long long calls;
	char text[32];

	look_at_first_pass(false);
	calls = first_pass.calls;
	if (first_pass.over)
		fprintf(out, "calls above p%s, %s, which %llu calls of the first pass gave\n",
			above_name,
			plumb_format_time(first_pass.ns, PLUMB_AUTO, text, sizeof(text)), calls);
	else
		fprintf(out, "p%s is not known yet: only %llu calls in the first pass\n",
			above_name, calls);
}

static json_t *json_above(void)
{
	look_at_first_pass(false);
	return json_pack("{s:s, s:o, s:I}", "percentile", above_name, "ns",
			 first_pass.ns ? plumb_json_u64(first_pass.ns) : json_null(), "calls",
			 (json_int_t)first_pass.calls);
}

static const struct plumb_mechanism mechanisms[] = {
	PLUMB_SYSCALL_MECHANISMS(open_tracepoints, PLUMB_SCHED_STABILITY),
};

static void print(const struct plumb_report *r, FILE *out)
{
	struct calls *calls = calls_of(r->snap);
	struct call c = calls_sum(calls);
	struct tree *tree = calls_tree(calls, r);
	char all[32], on_cpu[32];

	if (above)
		print_above(out);
	fprintf(out, "%llu call%s, %s in all, %s of it on the CPU, where %llu sample%s taken\n",
		(unsigned long long)c.count, c.count == 1 ? "" : "s",
		plumb_format_time(c.ns, PLUMB_AUTO, all, sizeof(all)),
		plumb_format_time(c.on_cpu, PLUMB_AUTO, on_cpu, sizeof(on_cpu)),
		(unsigned long long)c.samples, c.samples == 1 ? " was" : "s were");
	tree_print(tree, PERCENT, out);
	calls_warn(calls, out);
	callers_print(calls, r, out);
	tree_free(tree);
	calls_free(calls);
}

static void row_json(json_t *json, const struct plumb_report *r, const struct plumb_row *row)
{
	struct plumb_frames f = {};
	char name[32];

	if (row->slot)
		json_object_set_new(json, "syscall",
				    json_string(row_syscall(row, name, sizeof(name))));
	if (row_is_calls(row)) {
		json_object_set_new(json, "ns", plumb_json_u64(row->sum));
		json_object_set_new(json, "on_cpu", plumb_json_u64(row->counters[0]));
		json_object_set_new(json, "samples", plumb_json_u64(row->counters[1]));
		return;
	}
	if (row_is_callers(row)) {
		json_object_set_new(json, "off_cpu", plumb_json_u64(row->sum));
		json_object_set_new(json, "calls", plumb_json_u64(row->counters[0]));
	} else {
		json_object_set_new(json, "blocked", plumb_json_u64(row->sum));
		json_object_set_new(json, "preempted_runq", plumb_json_u64(row->counters[0]));
	}
	json_object_set_new(json, "samples", plumb_json_u64(row->counters[1]));
	row_frames(&f, r, row);
	json_object_set_new(json, "stack", plumb_frames_json(&f));
	plumb_frames_free(&f);
}

static void add_json(json_t *json, const struct plumb_report *r)
{
	struct calls *calls = calls_of(r->snap);
	struct call c = calls_sum(calls);
	struct tree *tree = calls_tree(calls, r);

	json_object_set_new(json, "calls", plumb_json_u64(c.count));
	json_object_set_new(json, "ns", plumb_json_u64(c.ns));
	json_object_set_new(json, "on_cpu", plumb_json_u64(c.on_cpu));
	json_object_set_new(json, "samples", plumb_json_u64(c.samples));
	if (above)
		json_object_set_new(json, "above", json_above());
	json_object_set_new(json, "by_syscall", calls_json(calls));
	json_object_set_new(json, "tree", tree_json(tree));
	tree_free(tree);
	calls_free(calls);
}

static struct plumb_tool tool = {
	.card.name = "syscall-breakdown",
	.card.summary =
		"Break down the time of a system call by kernel function, on and off the CPU.",
	.card.about =
		"hooks:     raw tracepoints sys_enter, sys_exit (stable), or from 7.0 on\n"
		"           tracepoints (stable); raw tracepoints sched_switch,\n"
		"           sched_waking (stable-ish); perf event cpu-clock;\n"
		"           with -f fsession, fentry and fexit, kprobe.session, kprobe.multi,\n"
		"           kprobe and kretprobe on the functions (unstable)\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated; 6.18 locked down, but for -f;\n"
		"           x86_64\n"
		"fire rate: 1,000 to 1,000,000 a second on a busy machine\n"
		"cost:      measured at each start, see the footer; without -f all other\n"
		"           system calls of the machine are slower too, by some 30 ns\n",
	.options.list = options,
	.options.complete = complete,
	.options.more = plumb_syscall_options,
	.options.syscalls = &plumb_syscalls,
	.options.lacks = PLUMB_NO_TABLE_OPTIONS,
	.keys.size = sizeof(struct plumb_stack_key),
	.keys.default_by = PLUMB_BY_STACK,
	.keys.max = 4096,
	.measure.kind = PLUMB_COUNTS,
	.measure.ends_inside = true,
	.view.rows = print,
	.view.row_json = row_json,
	.view.report_json = add_json,
	.view.json_of_rows = true,
	.overhead.syscalls = true,
	.witness = &plumb_syscall_witness,
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle = {.reports_first = true, .tick = tick},
	.stacking = &plumb_stacking_own,
};

int main(int argc, char **argv)
{
	int status = plumb_main(argc, argv, &tool);

	inside_hint(status);
	return status;
}
