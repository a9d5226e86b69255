/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/core/run.h>
#include <plumb/core/tracer.h>
#include <plumb/core/verdict.h>
#include <plumb/functions/arg-key.h>
#include <plumb/functions/functions.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/inflight/inflight.h>
#include <plumb/user/targets.h>

#include "func-latency.h"

#include "func-latency-session-610.skel.h"
#include "func-latency-session-700.skel.h"
#include "func-latency.skel.h"

/* What the command line asks for. */
static const char *patterns[PLUMB_MAX_LIST];
static size_t n_patterns;
static __u64 min_ns;
static bool only_errors, on_cpu;
static struct plumb_arg_key arg_key = {.arg.position = PLUMB_NO_ARG};

static struct plumb_functions functions;
static struct plumb_tool tool;

static bool add_pattern(const char *text, bool number)
{
	if (number)
		return false;
	if (n_patterns == PLUMB_MAX_LIST)
		plumb_usage_error("at most %d functions or globs", PLUMB_MAX_LIST);
	patterns[n_patterns++] = text;
	return true;
}

static void format_function(const void *key, char *text, size_t size)
{
	const struct func_latency_key *k = key;

	plumb_probe_name(&functions, k->function, text, size);
}

static void format_arg(const void *key, char *text, size_t size)
{
	const struct func_latency_key *k = key;

	plumb_arg_key_format(&arg_key, k->arg, text, size);
}

static json_t *json_arg(const void *key)
{
	const struct func_latency_key *k = key;

	return plumb_arg_key_json(&arg_key, k->arg);
}

/* Without func as a key there is only one function, and k->function is 0. */
static bool is_pointer(const struct func_latency_key *k)
{
	return functions.all[k->function].result == PLUMB_RESULT_POINTER;
}

static bool fails(const void *key)
{
	const struct func_latency_key *k = key;

	return functions.all[k->function].result != PLUMB_RESULT_NONE;
}

static void format_ret(const void *key, char *text, size_t size)
{
	const struct func_latency_key *k = key;

	snprintf(text, size, is_pointer(k) ? "%#llx" : "%lld", (long long)k->ret);
}

static json_t *json_ret(const void *key)
{
	const struct func_latency_key *k = key;
	char text[32];

	if (!is_pointer(k))
		return json_integer(k->ret);
	format_ret(key, text, sizeof(text));
	return json_string(text);
}

/* parse_key() replaces the name of the argument's field by the item of --by. */
static struct plumb_field fields[] = {
	{"func", FUNC_LATENCY_BY_FUNC, .format = format_function},
	{"arg:NAME|N[>>SHIFT]", FUNC_LATENCY_BY_ARG, .number = true, .format = format_arg,
	 .json = json_arg},
	{"ret", FUNC_LATENCY_BY_RET, .number = true, .format = format_ret, .json = json_ret},
	{PLUMB_FIELD("errno", FUNC_LATENCY_BY_ERRNO, PLUMB_ERRNO, func_latency_key, error)},
};

static bool parse_key(const char *item, struct plumb_options *o)
{
	if (!plumb_arg_key_parse(&arg_key, item))
		return false;
	fields[1].name = arg_key.item;
	o->by |= FUNC_LATENCY_BY_ARG;
	return true;
}

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Only these calls:", .group = 30},
	{"errors", 0, NULL, "calls that returned an error", 30, .given = &only_errors},
	{"min", 0, "TIME", "calls that took at least TIME (10us, 1.5ms, 2s)", 30, .time = &min_ns},
	{"cpu", 0, NULL, "also report the time on the CPU, below the elapsed time", 40, .given = &on_cpu},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (!n_patterns)
		plumb_usage_error("no function: func-latency FUNC...");
	if (on_cpu)
		tool.measure.second = "cpu";
}

/* A key argument must have one position and type in all functions: they share one program. */
static int find_arg(void)
{
	struct plumb_argument a, first = {};
	struct plumb_arg *arg = &arg_key.arg;
	char function[128];
	int err;

	for (size_t i = 0; i < functions.n; i++) {
		err = plumb_function_argument(&functions.all[i], arg_key.name, &a);
		if (err)
			return err;
		if (!i)
			first = a;
		else if (a.index != first.index || a.bits != first.bits ||
			 a.is_signed != first.is_signed)
			return plumb_error(
				EINVAL, "argument %s differs in %s: trace each alone", arg_key.name,
				plumb_probe_name(&functions, i, function, sizeof(function)));
	}
	arg->position = first.index | (first.is_pointer ? PLUMB_POINTER : 0);
	arg->bits = first.bits;
	arg->is_signed = first.is_signed;
	return 0;
}

static void configure(struct plumb_bpf *bpf, struct plumb_arg *config, bool calibration)
{
	bpf->config->off_cpu = on_cpu;
	bpf->function->min_ns = calibration ? 0 : min_ns;
	bpf->function->only_errors = !calibration && only_errors;
	*config = arg_key.arg;
	if (calibration)
		config->position = PLUMB_NO_ARG;
	bpf->function->takes_args = config->position != PLUMB_NO_ARG;
	bpf->function->last_arg = config->position & ~PLUMB_POINTER;
}

PLUMB_FUNCTION_OPENS(func_latency, plumb_arg, configure)

static const struct plumb_mechanism few[] = {
	PLUMB_FUNCTION_MECHANISMS,
};

static const struct plumb_mechanism many[] = {
	PLUMB_FUNCTION_MECHANISMS_MANY,
};

static int prepare(struct plumb_options *o)
{
	int err = plumb_timed_functions_find(patterns, n_patterns, o->btf, &functions);

	if (functions.n > PLUMB_MAX_TARGETS)
		err = plumb_error(E2BIG,
				  "%zu functions, at most %d: narrow the glob, or trace in parts",
				  functions.n, PLUMB_MAX_TARGETS);
	if (!err && *arg_key.item)
		err = find_arg();
	if (err)
		return err;
	if (functions.n > 1)
		o->by |= FUNC_LATENCY_BY_FUNC;
	if (functions.n <= PLUMB_FEW && !o->mechanism) {
		tool.mechanisms.list = few;
		tool.mechanisms.n = sizeof(few) / sizeof(few[0]);
	}
	return 0;
}

/* Return whether the calls of all threads were to be traced. */
static bool is_unfiltered(const struct plumb_run *run)
{
	const struct plumb_options *o = &run->options;

	return !(o->n_pids || o->n_tids || o->n_comms || o->globs.n || o->n_cgroups || o->command);
}

/* A likely reason for 0 calls, to be appended to the warning; "" if calls may have been lost. */
static const char *guess(const struct plumb_run *run, const struct plumb_snapshot *total)
{
	if (!plumb_ledger_is_whole(total))
		return "";
	return is_unfiltered(run) ? ": it may be inlined into its callers"
				  : " of those that are traced: another may call it, or it is "
				    "inlined into its callers";
}

static const char *name_of(size_t i, char *text, size_t size)
{
	return plumb_probe_name(&functions, i, text, size);
}

/* Probes that attached but recorded no call may never fire. */
static void finish(const struct plumb_run *run, const struct plumb_snapshot *total,
		   uint64_t elapsed)
{
	const struct plumb_timed_functions timed = {
		.n = functions.n,
		.by = FUNC_LATENCY_BY_FUNC,
		.at = offsetof(struct func_latency_key, function),
		.guess = guess(run, total),
		.name = name_of,
	};

	plumb_timed_functions_warn_silent(run, total, elapsed, &timed);
}

static const struct plumb_inflight inflight = {
	PLUMB_FUNCTIONS_INFLIGHT,
	.min_ns = &min_ns,
};

static struct plumb_tool tool = {
	.card.name = "func-latency",
	.card.summary = "Summarize kernel function latency as percentiles, by function, process, "
			"argument or result.",
	.card.about =
		"hooks:     fsession, fentry and fexit, kprobe.session, kprobe.multi, kprobe\n"
		"           and kretprobe on the functions (unstable: another kernel may\n"
		"           not have them)\n"
		"kernels:   5.10, 6.1, 6.12, 7.3 emulated; x86_64\n"
		"fire rate: that of the functions: func-count shows it\n"
		"cost:      measured at each start on another function, see the footer\n",
	.options.list = options,
	.options.complete = complete,
	.options.arguments = "FUNC... ",
	.options.argument = add_pattern,
	.keys.fields = fields,
	.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
	.keys.size = sizeof(struct func_latency_key),
	.keys.default_by = FUNC_LATENCY_BY_FUNC,
	.keys.parse = parse_key,
	.measure.errors = true,
	.measure.fails = fails,
	.witness = &plumb_function_witness,
	.mechanisms.list = many,
	.mechanisms.n = sizeof(many) / sizeof(many[0]),
	.mechanisms.functions = &functions,
	.mechanisms.attaching = &plumb_attaching,
	.lifecycle.prepare = prepare,
	.lifecycle.finish = finish,
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
