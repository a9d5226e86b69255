/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "recorder.h"

#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/options.h>
#include <stdio.h>
#include <string.h>

#define INTERVAL   (10 * PLUMB_SECOND)
#define SHORTEST   (PLUMB_SECOND / 10)
#define YEAR       (366 * 24 * 3600 * PLUMB_SECOND)
#define RECORDS    1000000
#define DUMP_FILES 10
#define MINUTE     (60 * PLUMB_SECOND)

enum { KEEP = 1, OUT, MAX_DUMPS, TRIGGER, TRIGGER_KEY, AFTER, COOL_DOWN, EXIT_ON_DUMP };

/* clang-format off */
const struct argp_option recorder_options[] = {
	{NULL, 0, NULL, 0, "Flight recorder:", 50},
	{"keep", KEEP, "TIME[/INTERVAL]", 0, "keep the last TIME in memory, as 10m/10s (records: N); dump it at SIGUSR1, a trigger and the end", 50},
	{"out", OUT, "FILE", 0, "write dumps there; older ones are FILE.1, FILE.2", 50},
	{"max-dumps", MAX_DUMPS, "N", 0, "keep N of these files; default 10", 50},
	{"trigger", TRIGGER, "CONDITION", 0, "dump when an interval satisfies it, as p99>50ms, count>1000/s, lost>0 or max>3*median", 50},
	{"trigger-key", TRIGGER_KEY, "KEYS", 0, "triggers are of rows with these keys only: KEY=VALUE[,...]", 50},
	{"after", AFTER, "DURATION", 0, "dump that long after the trigger", 50},
	{"cool-down", COOL_DOWN, "DURATION", 0, "no trigger for that long after a dump; default: TIME", 50},
	{"exit-on-dump", EXIT_ON_DUMP, NULL, 0, "stop at the first dump", 50},
	{0},
};
/* clang-format on */

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
static void parse_keep(char *text, struct plumb_options *o)
{
	char first[32];
	const char *slash = strchrnul(text, '/');

	snprintf(first, sizeof(first), "%.*s", (int)(slash - text), text);
	o->keep.on = true;
	o->keep.time = o->keep.records = 0;
	if (*first && first[strspn(first, "0123456789")] == 0)
		o->keep.records = plumb_option_number("--keep", first, 1, RECORDS);
	else
		o->keep.time = part(first, text);
	o->keep.interval = *slash ? part(slash + 1, text) : INTERVAL;
	if (!*slash && o->keep.time && o->keep.time < INTERVAL)
		o->keep.interval = o->keep.time;
	if (o->keep.time && o->keep.time < o->keep.interval)
		plumb_usage_error("--keep: INTERVAL is longer than TIME: %s", text);
}

static void add_trigger(const char *text, struct plumb_options *o)
{
	if (o->keep.n_triggers == PLUMB_MAX_TRIGGERS)
		plumb_usage_error("--trigger: at most %d", PLUMB_MAX_TRIGGERS);
	o->keep.triggers[o->keep.n_triggers++] = text;
}

static void set_out(const char *text, struct plumb_options *o)
{
	if (!*text || !strcmp(text, "-"))
		plumb_usage_error("--out: not a file: '%s'", text);
	o->keep.out = text;
}

void recorder_parse(int key, char *text, struct plumb_options *o)
{
	switch (key) {
	case KEEP:
		parse_keep(text, o);
		return;
	case OUT:
		set_out(text, o);
		return;
	case MAX_DUMPS:
		o->keep.max_dumps = plumb_option_number("--max-dumps", text, 1, 1000);
		return;
	case TRIGGER:
		add_trigger(text, o);
		return;
	case TRIGGER_KEY:
		if (o->keep.key)
			plumb_usage_error("--trigger-key is given twice: KEY=VALUE[,...]: %s",
					  text);
		o->keep.key = text;
		return;
	case AFTER:
		o->keep.after = span("--after", text);
		return;
	case COOL_DOWN:
		o->keep.cool_down = span("--cool-down", text);
		o->keep.cool_down_given = true;
		return;
	case EXIT_ON_DUMP:
		o->keep.exit_on_dump = true;
		return;
	}
}

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
