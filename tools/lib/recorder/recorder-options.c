/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recorder.h"

#include <stdio.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/options.h>
#include <plumb/core/parse.h>

#define INTERVAL   (10 * PLUMB_SECOND)
#define SHORTEST   (PLUMB_SECOND / 10)
#define YEAR       (366 * 24 * 3600 * PLUMB_SECOND)
#define RECORDS    1000000
#define DUMP_FILES 10
#define MINUTE     (60 * PLUMB_SECOND)

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
	(void)option;
	(void)text;
	o->keep.exit_on_dump = true;
}

/* clang-format off */
const struct plumb_option recorder_options[] = {
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

void recorder_complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	(void)tool;
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
