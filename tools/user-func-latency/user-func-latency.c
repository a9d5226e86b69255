/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/run.h>
#include <plumb/core/snapshot.h>
#include <plumb/core/text.h>
#include <plumb/core/verdict.h>
#include <plumb/functions/arg-key.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/inflight/inflight.h>
#include <plumb/split/split.h>
#include <plumb/user/builds.h>

#include "user-func.h"
#include "user-func-latency.h"

#include <plumb/bpf/function/function.h>

static struct plumb_user_pattern patterns[PLUMB_MAX_LIST];
static size_t n_patterns;
static struct plumb_arg_key arg_key = {.arg.position = PLUMB_NO_ARG};
static struct plumb_tool tool;

/* What times targets of that other kind; NULL: it is none.  A file of that name is u:k:FUNC. */
static const char *other_tool(const char *text)
{
	if (!strncmp(text, "usdt:", 5))
		return "USDT probes are timed by usdt-latency";
	if (!strncmp(text, "k:", 2))
		return "kernel functions are timed by func-latency";
	if (!strncmp(text, "t:", 2) || !strncmp(text, "r:", 2))
		return "tracepoints are counted by func-count";
	return strncmp(text, "s:", 2) ? NULL : "system calls are timed by syscall-latency";
}

static bool add_pattern(const char *text, bool number)
{
	if (number)
		return false;
	if (n_patterns == PLUMB_MAX_LIST)
		plumb_usage_error("at most %d functions or globs", PLUMB_MAX_LIST);
	if (other_tool(text))
		plumb_usage_error("%s: %s", other_tool(text), text);
	plumb_user_pattern_take(text, "u:", &patterns[n_patterns++]);
	return true;
}

static void format_function(const void *key, char *text, size_t size)
{
	const struct user_func_key *k = key;

	plumb_targets_name(&user_func.targets, k->function, false, text, size);
}

static json_t *json_function(const void *key)
{
	const struct user_func_key *k = key;
	char text[4096];

	return json_string(
		plumb_targets_name(&user_func.targets, k->function, true, text, sizeof(text)));
}

static void format_file(const void *key, char *text, size_t size)
{
	const struct user_func_key *k = key;

	plumb_build_name(k->build, text, size);
}

static void format_arg(const void *key, char *text, size_t size)
{
	const struct user_func_key *k = key;

	plumb_arg_key_format(&arg_key, k->arg, text, size);
}

/* parse_key() replaces the name of the argument's field by the item of --by. */
static struct plumb_field fields[] = {
	{"func", USER_FUNC_BY_FUNC, .format = format_function, .json = json_function},
	{"file", USER_FUNC_BY_FILE, .format = format_file},
	{"arg:N[:TYPE][>>SHIFT]", USER_FUNC_BY_ARG, .number = true, .format = format_arg},
	{PLUMB_FIELD("ret", USER_FUNC_BY_RET, PLUMB_SIGNED, user_func_key, ret)},
	{PLUMB_FIELD("errno", USER_FUNC_BY_ERRNO, PLUMB_ERRNO, user_func_key, error)},
};

/* The type after the argument's number, as ":u32"; a usage error if there is no such type. */
static void parse_type(const char *type)
{
	uint64_t bits;

	if (!strchr("su", *type) || !*type || plumb_parse_u64(type + 1, 8, 64, &bits) ||
	    (bits & (bits - 1)))
		plumb_usage_error("--by: a type is s or u and 8, 16, 32 or 64: %s", arg_key.item);
	arg_key.arg.bits = bits;
	arg_key.arg.is_signed = *type == 's';
}

static bool parse_key(const char *item, struct plumb_options *o)
{
	char *type;
	uint64_t n;

	if (!plumb_arg_key_parse(&arg_key, item))
		return false;
	type = strchr(arg_key.name, ':');
	if (type)
		*type++ = 0;
	if (plumb_parse_u64(arg_key.name, 0, PLUMB_GO_ARGS - 1, &n))
		plumb_usage_error("--by: arg:N, of the arguments 0 to %d (Go: %d), in registers: "
				  "%s",
				  PLUMB_REGISTER_ARGS - 1, PLUMB_GO_ARGS - 1, item);
	if (type)
		parse_type(type);
	arg_key.arg.position = n;
	fields[2].name = arg_key.item;
	o->by |= USER_FUNC_BY_ARG;
	return true;
}

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Only these calls:", .group = 30},
	{"errors", 0, NULL, "calls that returned -1 to -4095", 30, .given = &user_func.only_errors},
	{"min", 0, "TIME", "calls that took at least TIME (10us, 1.5ms, 2s)", 30, .time = &user_func.min_ns},
	{"cpu", 0, NULL, "also report the time on the CPU, below the elapsed time", 40, .given = &user_func.on_cpu},
	{"split", 0, NULL, "split the time into on-cpu, preempted, blocked and runq", 40, .shared = offsetof(struct plumb_options, split)},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (!n_patterns)
		plumb_usage_error("no function: user-func-latency FILE:FUNC...");
	if (o->split && user_func.on_cpu)
		plumb_usage_error("--split includes the time on the CPU: without --cpu");
	if (user_func.on_cpu)
		tool.measure.second = "cpu";
	user_func.arg = arg_key.arg;
	user_func.errors = user_func.only_errors || o->by & USER_FUNC_BY_ERRNO ||
			   (o->sort && !strcmp(o->sort, "errors")) ||
			   (o->columns && strstr(o->columns, "errors"));
	tool.measure.errors = user_func.errors;
}

static int prepare(struct plumb_options *o)
{
	int err;

	user_func.options = o;
	if (o->follow) /* there are more to come */
		user_func.use.is_by_process = NULL;
	err = plumb_builds_open(&user_func.targets, patterns, n_patterns, &user_func.use, o);
	if (!err && user_func.asks)
		err = user_targets_refuse();
	if (!err && !user_func.go && arg_key.arg.position != PLUMB_NO_ARG &&
	    arg_key.arg.position >= PLUMB_REGISTER_ARGS)
		plumb_usage_error("--by: arg:N, of the arguments 0 to %d, in registers: %s",
				  PLUMB_REGISTER_ARGS - 1, arg_key.item);
	if (err)
		return err;
	plumb_info("%zu functions", user_func.targets.n);
	tool.overhead.traced = user_func.targets.traced;
	if (user_func.targets.n > 1 && !o->by_given)
		o->by |= USER_FUNC_BY_FUNC;
	return 0;
}

static const char *name_of(size_t i, char *text, size_t size)
{
	return plumb_targets_name(&user_func.targets, i, false, text, size);
}

static void finish(const struct plumb_run *run, const struct plumb_snapshot *total,
		   uint64_t elapsed)
{
	const struct plumb_timed_functions timed = {
		.n = user_func.targets.n,
		.by = USER_FUNC_BY_FUNC,
		.at = offsetof(struct user_func_key, function),
		.guess = "",
		.name = name_of,
	};

	plumb_timed_functions_warn_silent(run, total, elapsed, &timed);
}

static void name_flight(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			size_t size)
{
	plumb_targets_name(&user_func.targets, f->what, false, text, size);
}

/* Where a thread is in user space is not known: calls that began before are not found. */
static const struct plumb_inflight inflight = {
	.kind = &plumb_functions_inflight,
	.heading = "FUNCTION",
	.json = "function",
	.min_ns = (const __u64 *)&user_func.min_ns,
	.name = name_flight,
};

static struct plumb_tool tool = {
	.card.name = "user-func-latency",
	.card.summary = "Summarize the latency of functions of programs and libraries as "
			"percentiles.",
	.card.about =
		"hooks:     uprobe.session, uprobe.multi, uprobe and uretprobe on the functions\n"
		"           (as stable as the program)\n"
		"kernels:   6.18 locked down; 5.10, 6.1, 6.12, 7.3 emulated; x86_64\n"
		"fire rate: that of the functions: func-count shows it\n"
		"cost:      one to several microseconds a call: measured at each start on a\n"
		"           function of the tool, see the footer\n",
	.options.list = options,
	.options.complete = complete,
	.options.arguments = "FILE:FUNC... ",
	.options.argument = add_pattern,
	.keys.fields = fields,
	.keys.n_fields = sizeof(fields) / sizeof(fields[0]),
	.keys.size = sizeof(struct user_func_key),
	.keys.default_by = USER_FUNC_BY_FUNC,
	.keys.parse = parse_key,
	.measure.errors = true,
	.measure.split_by = &plumb_splitting,
	.overhead.calibrate = user_func_calibrate,
	.mechanisms.list = user_func_mechanisms,
	.mechanisms.n = USER_FUNC_MECHANISMS,
	.lifecycle.prepare = prepare,
	.lifecycle.finish = finish,
	.files = &plumb_builds,
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
