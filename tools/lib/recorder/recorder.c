/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * recorder: --keep.  Keeps the last intervals, or records, and writes them when they are asked for.
 *
 * A dump is what is kept as JSON lines, and then the interval in progress, whose member "dump"
 * tells why it was written.  Triggers are evaluated when an interval ends.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/part.h>
#include <plumb/core/run.h>
#include <plumb/recorder/in-order.h>
#include <plumb/recorder/kept.h>

#include "recorder.h"

#define INTERVAL   (10 * PLUMB_SECOND)
#define SHORTEST   (PLUMB_SECOND / 10)
#define YEAR       (366 * 24 * 3600 * PLUMB_SECOND)
#define RECORDS    1000000
#define DUMP_FILES 10
#define MINUTE     (60 * PLUMB_SECOND)
#define MAX_BYTES  (256ULL << 20)
#define MEDIAN_OF  60 /* intervals, where records are kept */

/* --- options --- */

static uint64_t span(const char *option, const char *text)
{
	uint64_t ns;

	if (plumb_parse_span(text, 0, YEAR, &ns))
		plumb_usage_error("%s: a time with its unit, as 10s or 5m, at most a year: %s",
				  option, text);
	return ns;
}

/* A part of --keep=TEXT. */
static uint64_t part(const char *value, const char *text)
{
	uint64_t ns;

	if (plumb_parse_span(value, SHORTEST, YEAR, &ns))
		plumb_usage_error("--keep: times with their unit, at least 100ms, as 10m or "
				  "10m/10s: %s",
				  text);
	return ns;
}

/* TIME[/INTERVAL] or N[/INTERVAL]. */
static void parse_keep(const char *option, const char *text, struct plumb_options *o)
{
	char first[32];
	const char *slash = strchrnul(text, '/');

	snprintf(first, sizeof(first), "%.*s", (int)(slash - text), text);
	o->keep.on = true;
	o->keep.time = o->keep.records = 0;
	if (*first && first[strspn(first, "0123456789")] == 0)
		o->keep.records = plumb_option_number(option, first, 1, RECORDS);
	else
		o->keep.time = part(first, text);
	o->keep.interval = *slash ? part(slash + 1, text) : INTERVAL;
	if (!*slash && o->keep.time && o->keep.time < INTERVAL)
		o->keep.interval = o->keep.time;
	if (o->keep.time && o->keep.time < o->keep.interval)
		plumb_usage_error("%s: INTERVAL is longer than TIME: %s", option, text);
}

static void add_trigger(const char *option, const char *text, struct plumb_options *o)
{
	if (o->keep.n_triggers == PLUMB_MAX_TRIGGERS)
		plumb_usage_error("%s: at most %d", option, PLUMB_MAX_TRIGGERS);
	o->keep.triggers[o->keep.n_triggers++] = text;
}

static void set_trigger_key(const char *option, const char *text, struct plumb_options *o)
{
	if (o->keep.key)
		plumb_usage_error("%s is given twice: KEY=VALUE[,...]: %s", option, text);
	o->keep.key = text;
}

static void set_out(const char *option, const char *text, struct plumb_options *o)
{
	if (!*text || !strcmp(text, "-"))
		plumb_usage_error("%s: not a file: '%s'", option, text);
	o->keep.out = text;
}

static void set_max_dumps(const char *option, const char *text, struct plumb_options *o)
{
	o->keep.max_dumps = plumb_option_number(option, text, 1, 1000);
}

static void set_after(const char *option, const char *text, struct plumb_options *o)
{
	o->keep.after = span(option, text);
}

static void set_cool_down(const char *option, const char *text, struct plumb_options *o)
{
	o->keep.cool_down = span(option, text);
	o->keep.cool_down_given = true;
}

static void set_exit_on_dump(const char *option, const char *text, struct plumb_options *o)
{
	o->keep.exit_on_dump = true;
}

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Flight recorder:", .group = 50},
	{"keep", 0, "TIME[/INTERVAL]", "keep the last TIME in memory, as 10m/10s (records: N); dump it at SIGUSR1, a trigger and the end", 50, .parse = parse_keep},
	{"out", 0, "FILE", "write dumps there; older ones are FILE.1, FILE.2", 50, .parse = set_out},
	{"max-dumps", 0, "N", "keep N of these files; default 10", 50, .parse = set_max_dumps},
	{"trigger", 0, "CONDITION", "dump when an interval satisfies it, as p99>50ms, count>1000/s, lost>0 or max>3*median", 50, .parse = add_trigger},
	{"trigger-key", 0, "KEYS", "triggers are of rows with these keys only: KEY=VALUE[,...]", 50, .parse = set_trigger_key},
	{"after", 0, "DURATION", "dump that long after the trigger", 50, .parse = set_after},
	{"cool-down", 0, "DURATION", "no trigger for that long after a dump; default: TIME", 50, .parse = set_cool_down},
	{"exit-on-dump", 0, NULL, "stop at the first dump", 50, .parse = set_exit_on_dump},
	{0},
};
/* clang-format on */

static void needs(bool given, const char *option, bool there, const char *other)
{
	if (given && !there)
		plumb_usage_error("%s is only for %s", option, other);
}

static void complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	needs(o->keep.out, "--out", o->keep.on, "--keep");
	needs(o->keep.max_dumps, "--max-dumps", o->keep.out, "--out");
	needs(o->keep.n_triggers, "--trigger", o->keep.on, "--keep");
	needs(o->keep.key, "--trigger-key", o->keep.n_triggers, "--trigger");
	needs(o->keep.after, "--after", o->keep.n_triggers, "--trigger");
	needs(o->keep.cool_down_given, "--cool-down", o->keep.n_triggers, "--trigger");
	needs(o->keep.exit_on_dump, "--exit-on-dump", o->keep.on, "--keep");
	if (!o->keep.on)
		return;
	if (o->interval)
		plumb_usage_error("--keep and INTERVAL exclude each other: --keep=TIME/INTERVAL");
	/* Other outputs take the rows of these intervals, too. */
	if (o->keep.interval)
		o->sample = o->keep.interval;
	o->json = true;
	if (!o->keep.max_dumps)
		o->keep.max_dumps = DUMP_FILES;
	if (!o->keep.cool_down_given)
		o->keep.cool_down = o->keep.time ?: MINUTE;
}

/* --- the part --- */

static struct {
	bool on;
	struct plumb_in_order *records; /* NULL: intervals are kept */
	struct plumb_kept kept;
	bool asked; /* by SIGUSR1 */
	int status; /* of dumps: 0, or the first error */
	uint64_t dumps;
} recorder;

static void check(const struct plumb_options *o, const struct plumb_tool *tool)
{
	sigset_t requests;

	if (!o->keep.on)
		return;
	recorder.on = true;
	/* A request before the trace begins stays pending until then, and does not kill the tool.
	 */
	sigemptyset(&requests);
	sigaddset(&requests, SIGUSR1);
	sigprocmask(SIG_BLOCK, &requests, NULL);
	recorder.records = plumb_in_order_of(tool);
	if (recorder.records && !o->keep.records)
		plumb_usage_error("--keep: here a number of records, as 1000, or 1000/10s with "
				  "triggers each 10s");
	if (!recorder.records && !o->keep.time)
		plumb_usage_error(
			"--keep: a time with its unit, as 10m, or 10m/10s in intervals of "
			"10s: %llu",
			(unsigned long long)o->keep.records);
	triggers_parse(o, tool);
}

/* The bytes that are kept at most; triggers compare with medians. */
static uint64_t plan(const struct plumb_options *o, const struct plumb_tool *tool)
{
	if (recorder.records)
		return o->keep.records * recorder.records->size +
		       triggers_plan(MEDIAN_OF, o->max_keys + 1);
	return plumb_kept_plan(&recorder.kept, tool, o) +
	       triggers_plan(recorder.kept.most, recorder.kept.slots);
}

/* Says how much memory it will take. */
static int prepare(struct plumb_options *o, const struct plumb_tool *tool)
{
	uint64_t bytes;
	char size[16];

	if (!recorder.on)
		return 0;
	bytes = plan(o, tool);
	plumb_format_size(bytes, size, sizeof(size));
	if (bytes > MAX_BYTES)
		return plumb_error(
			E2BIG, "--keep: %s bytes of memory, at most 256M: lower %s", size,
			recorder.records ? "N" : "TIME or --max-keys, or raise INTERVAL");
	if (recorder.records)
		plumb_warn("keeps %llu records in %s bytes of memory",
			   (unsigned long long)o->keep.records, size);
	else
		plumb_warn("keeps %zu intervals in at most %s bytes of memory", recorder.kept.most,
			   size);
	return 0;
}

static int open_recorder(struct plumb_run *run)
{
	const struct plumb_options *o = &run->options;
	int err;

	if (!recorder.on)
		return 0;
	err = recorder.records ? plumb_in_order_hold(recorder.records, o->keep.records)
			       : plumb_kept_open(&recorder.kept);
	if (!err)
		err = triggers_open(o);
	if (err)
		return plumb_error(err, "--keep: %s", strerror(-err));
	return o->keep.out ? dump_check(o->keep.out) : 0;
}

static bool is_due(bool asked)
{
	recorder.asked |= recorder.on && asked;
	return recorder.on && (asked || triggers_are_due());
}

/* The member "dump". */
static json_t *describe(void)
{
	const uint64_t n = recorder.records ? recorder.records->seen : recorder.kept.n;
	const uint64_t most = recorder.records ? recorder.records->most : n;
	const uint64_t forgotten =
		recorder.records ? n - (n < most ? n : most) : recorder.kept.forgotten;
	json_t *json = json_object();

	json_object_set_new(json, "number", json_integer(recorder.dumps));
	if (!recorder.asked && triggers_are_due())
		triggers_describe(json);
	else
		json_object_set_new(json, "why", json_string(recorder.asked ? "signal" : "end"));
	json_object_set_new(json, recorder.records ? "records" : "intervals",
			    json_integer(n < most ? n : most));
	json_object_set_new(json, "forgotten", json_integer(forgotten));
	triggers_count(json);
	return json;
}

static int write_all(const struct plumb_report *last, FILE *out)
{
	int err = recorder.records ? plumb_in_order_dump(recorder.records, out)
				   : plumb_kept_print(&recorder.kept, last, out);

	return err ?: plumb_report_json(last, out);
}

/* Dumps, at last the interval in PROGRESS.  -EPIPE: the reader of stdout has gone. */
static int dump(const struct plumb_report *progress)
{
	const struct plumb_options *o = &progress->run->options;
	struct plumb_report last = *progress;
	int err;

	recorder.dumps++;
	last.dump = describe();
	plumb_report_sort(&last);
	err = dump_write(o, &last, write_all);
	json_decref(last.dump);
	if (!recorder.asked && triggers_are_due())
		triggers_rest(progress->snap->clock);
	recorder.asked = false;
	if (err && err != -EPIPE) {
		recorder.status = recorder.status ?: err;
		err = 0;
	}
	return err;
}

static void tell_forgotten(void)
{
	static bool told;

	if (!told && recorder.kept.forgotten)
		plumb_warn("--keep: only %zu of %zu intervals fit, rows have more buckets than "
			   "planned: lower --precision or raise --max-keys",
			   recorder.kept.n, recorder.kept.most);
	told |= recorder.kept.forgotten > 0;
}

static int take(const struct plumb_report *interval)
{
	int err = 0;

	if (!recorder.on)
		return 0;
	triggers_evaluate(interval);
	if (interval->final) {
		triggers_end();
		return dump(interval);
	}
	if (!recorder.records)
		err = plumb_kept_add(&recorder.kept, interval);
	tell_forgotten();
	return err ? plumb_error(err, "--keep: %s", strerror(-err)) : 0;
}

static int close_recorder(void)
{
	if (recorder.on && !recorder.records)
		plumb_kept_free(&recorder.kept);
	triggers_free();
	return recorder.status;
}

const struct plumb_part plumb_recorder_part = {
	.name = "recorder",
	.options = options,
	.complete = complete,
	.check = check,
	.prepare = prepare,
	.open = open_recorder,
	.interval = take,
	.is_due = is_due,
	.progress = dump,
	.close = close_recorder,
};
