/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "options-keep.h"

#include <plumb/base/cli.h>
#include <plumb/base/clock.h>
#include <plumb/base/log.h>
#include <plumb/base/parse.h>
#include <plumb/tool/options.h>
#include <stdio.h>
#include <string.h>

#include "options-table.h"

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

static struct plumb_when when(const char *option, const char *text, bool multiple)
{
	struct plumb_when w;

	if (plumb_when_parse(text, &w) || (w.kind == PLUMB_WHEN_MULTIPLE && !multiple))
		plumb_usage_error("%s: HH:MM[:SS], 2026-11-25T13:00:00Z, +30s%s: %s", option,
				  multiple ? " or /10s" : "", text);
	if (w.kind == PLUMB_WHEN_AT && w.ns <= plumb_wall_now())
		plumb_usage_error("%s: that time is past: %s", option, text);
	return w;
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

bool plumb_options_keep(int key, char *text, struct plumb_options *o)
{
	switch (key) {
	case KEEP:
		parse_keep(text, o);
		return true;
	case OUT:
		set_out(text, o);
		return true;
	case MAX_DUMPS:
		o->keep.max_dumps = plumb_option_number("--max-dumps", text, 1, 1000);
		return true;
	case TRIGGER:
		add_trigger(text, o);
		return true;
	case TRIGGER_KEY:
		if (o->keep.key)
			plumb_usage_error("--trigger-key is given twice: KEY=VALUE[,...]: %s",
					  text);
		o->keep.key = text;
		return true;
	case AFTER:
		o->keep.after = span("--after", text);
		return true;
	case COOL_DOWN:
		o->keep.cool_down = span("--cool-down", text);
		o->keep.cool_down_given = true;
		return true;
	case EXIT_ON_DUMP:
		o->keep.exit_on_dump = true;
		return true;
	case START_AT:
		o->start_at = when("--start-at", text, true);
		return true;
	case UNTIL:
		o->until = when("--until", text, false);
		return true;
	default:
		return false;
	}
}

static void needs(bool given, const char *option, bool there, const char *other)
{
	if (given && !there)
		plumb_usage_error("%s is only for %s", option, other);
}

/* Other forms of --until are counted from the start. */
static void check_until(const struct plumb_options *o)
{
	if (o->until.kind == PLUMB_WHEN_AT && o->start_at.kind != PLUMB_WHEN_NEVER &&
	    plumb_when_resolve(&o->start_at, plumb_wall_now()) >= o->until.ns)
		plumb_usage_error("--until: that time is not after --start-at");
}

void plumb_options_keep_finish(struct plumb_options *o)
{
	check_until(o);
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
