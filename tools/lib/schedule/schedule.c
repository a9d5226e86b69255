/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* schedule: --start-at and --until. */
#include <string.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/run.h>
#include <plumb/schedule/when.h>

static struct plumb_when start_at, until;
static uint64_t end; /* by the wall clock, which may be set, ns since 1970; 0: none */

/* A time that is not past; MULTIPLE: "/10s" is one, too. */
static struct plumb_when option_when(const char *option, const char *text, bool multiple)
{
	struct plumb_when when;

	if (plumb_when_parse(text, &when) || (when.kind == PLUMB_WHEN_MULTIPLE && !multiple))
		plumb_usage_error("%s: HH:MM[:SS], 2026-11-25T13:00:00Z, +30s%s: %s", option,
				  multiple ? " or /10s" : "", text);
	if (when.kind == PLUMB_WHEN_AT && when.ns <= plumb_wall_now())
		plumb_usage_error("%s: that time is past: %s", option, text);
	return when;
}

static void set_start(const char *option, const char *text, struct plumb_options *o)
{
	start_at = option_when(option, text, true);
}

static void set_end(const char *option, const char *text, struct plumb_options *o)
{
	until = option_when(option, text, false);
	o->until = true;
}

/* clang-format off */
static const struct plumb_option options[] = {
	{"start-at", 0, "TIME", "start at HH:MM[:SS], an RFC 3339 time, +DURATION or the next multiple of /DURATION", 10, .parse = set_start},
	{"until", 0, "TIME", "stop at HH:MM[:SS], an RFC 3339 time, or +DURATION after the start", 10, .parse = set_end},
	{0},
};
/* clang-format on */

/* Other forms of --until are counted from the start. */
static void complete(struct plumb_options *o, const struct plumb_tool *tool)
{
	(void)o, (void)tool;
	if (until.kind == PLUMB_WHEN_AT && start_at.kind != PLUMB_WHEN_NEVER &&
	    plumb_when_resolve(&start_at, plumb_wall_now()) >= until.ns)
		plumb_usage_error("--until: that time is not after --start-at");
}

/* Nothing is attached until then: a signal ends the process. */
static int wait_for_start(struct plumb_run *run)
{
	int err;

	if (start_at.kind == PLUMB_WHEN_NEVER)
		return 0;
	err = plumb_when_wait(&start_at, &run->started);
	return err ? plumb_error(err, "--start-at: %s", strerror(-err)) : 0;
}

/* Counted from the time at which it was to start. */
static uint64_t ends_at(uint64_t grid)
{
	const uint64_t wall = plumb_wall_now(), now = plumb_now();
	uint64_t then;

	if (until.kind == PLUMB_WHEN_NEVER)
		return 0;
	then = plumb_when_resolve(&until, wall - (now - grid));
	if (plumb_when_is_of_clock(&until)) {
		end = then;
		return 0;
	}
	return then > wall ? now + (then - wall) : now;
}

/* A clock that is set is noticed within a second. */
static bool is_over(uint64_t now, uint64_t *again)
{
	const uint64_t wall = end ? plumb_wall_now() : 0;

	if (end && wall >= end)
		return true;
	if (end)
		*again = plumb_sooner(
			*again, now + (end - wall < PLUMB_SECOND ? end - wall : PLUMB_SECOND));
	return false;
}

const struct plumb_part plumb_schedule_part = {
	.name = "schedule",
	.options = options,
	.complete = complete,
	.wait = wait_for_start,
	.ends_at = ends_at,
	.is_over = is_over,
};
