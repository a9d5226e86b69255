/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "options-table.h"

#include <plumb/tool/tool.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct argp_option common[] = {
	{NULL, 0, NULL, 0, "Duration:", 10},
	{"duration", 'd', "SEC", 0, "stop after SEC seconds (default: ", 10},
	{"start-at", START_AT, "TIME", 0, "start at HH:MM[:SS], an RFC 3339 time, +DURATION or the next multiple of /DURATION", 10},
	{"until", UNTIL, "TIME", 0, "stop at HH:MM[:SS], an RFC 3339 time, or +DURATION after the start", 10},
	{NULL, 0, NULL, 0, "Filters (trace only these):", 20},
	{"pid", 'p', "PID[,...]", 0, "processes", 20},
	{"follow", FOLLOW, NULL, 0, "with -p: and the processes that they start from now on", 20},
	{"tid", 't', "TID[,...]", 0, "threads", 20},
	{"comm", 'c', "NAME[,...]", 0, "threads with one of these names", 20},
	{"cgroup", 'g', "PATH[,...]", 0, "cgroups (v2) and their descendants", 20},
	{NULL, 0, NULL, 0, "Output:", 40},
	{"by", 'b', "KEY[,...]", 0, "group by these keys; -b help lists them", 40},
	{"min-count", 'm', "N", 0, "omit rows of fewer than N calls from the table", 40},
	{"percentiles", 'q', "LIST", 0, "percentiles to report; default 50,90,99,99.9", 40},
	{"unit", 'u', "auto|ns|us|ms|s", 0, "unit of times in the table", 40},
	{"histogram", 'H', NULL, 0, "print a histogram below each row", 40},
	{"json", 'j', NULL, 0, "print JSON lines, one object per report", 40},
	{"top", 'n', "N", 0, "print only the first N rows of the table", 40},
	{"sort", SORT, "COLUMN", 0, "sort the table by this column, highest first", 40},
	{"heatmap", HEATMAP, "FILE.svg", 0, "at the end, draw a heat map: values over time", 40},
	{"chart", CHART, "FILE.svg", 0, "at the end, draw percentiles over time, and their distribution", 40},
	{"openmetrics", OPENMETRICS, "FILE.prom", 0, "write metrics for node_exporter's textfile collector, each INTERVAL or 10 s", 40},
	{"le", LE, "LOW:HIGH|LIST", 0, "bounds of its histograms; default 1us:68s, or 64:1M bytes", 40},
	{"otlp", OTLP, "FILE", 0, "append metrics as lines of OTLP JSON", 40},
	{NULL, 0, NULL, 0, "Flight recorder:", 50},
	{"keep", KEEP, "TIME[/INTERVAL]", 0, "keep the last TIME in memory, as 10m/10s (records: N); dump it at SIGUSR1, a trigger and the end", 50},
	{"out", OUT, "FILE", 0, "write dumps there; older ones are FILE.1, FILE.2", 50},
	{"max-dumps", MAX_DUMPS, "N", 0, "keep N of these files; default 10", 50},
	{"trigger", TRIGGER, "CONDITION", 0, "dump when an interval satisfies it, as p99>50ms, count>1000/s, lost>0 or max>3*median", 50},
	{"trigger-key", TRIGGER_KEY, "KEYS", 0, "triggers are of rows with these keys only: KEY=VALUE[,...]", 50},
	{"after", AFTER, "DURATION", 0, "dump that long after the trigger", 50},
	{"cool-down", COOL_DOWN, "DURATION", 0, "no trigger for that long after a dump; default: TIME", 50},
	{"exit-on-dump", EXIT_ON_DUMP, NULL, 0, "stop at the first dump", 50},
	{NULL, 0, NULL, 0, "Measurement:", 60},
	{"max-keys", MAX_KEYS, "N", 0, "maximum number of rows; further keys go to [other]; default ", 60},
	{"precision", PRECISION, "BITS", 0, "error bound of percentiles: at most 1/2^BITS too high; 1 to 10, default 6", 60},
	{"mechanism", MECHANISM, "NAME", 0, "use this mechanism or fail; help lists them, -v shows those tried", 60},
	{"btf", BTF, "FILE", 0, "read kernel types from FILE if /sys/kernel/btf has none", 60},
	{"no-calibrate", NO_CALIBRATE, NULL, 0, "do not measure the cost of tracing at the start", 60},
	{"strict", STRICT, "PCT", OPTION_ARG_OPTIONAL, "exit 3 if more than PCT % (default 0) of the calls were lost", 60},
	{"check-arguments", CHECK_ARGUMENTS, NULL, 0, "check the arguments and exit, without tracing", 60},
	/* Options of BCC's tools, which users try here; the parser's message has this text. */
	{NULL, 'T', NULL, OPTION_HIDDEN, "each report has its time where there is an INTERVAL, and JSON (-j) always", 60},
	{NULL, 'P', NULL, OPTION_HIDDEN, "a row for each process: -b pid", 60},
	{NULL, 'L', NULL, OPTION_HIDDEN, "a row for each thread: -b tid", 60},
	{NULL, 'i', NULL, OPTION_HIDDEN, "seconds between reports are an argument: INTERVAL", 60},
	{NULL, 'x', NULL, OPTION_HIDDEN, "calls that failed: syscall-latency --errors", 60},
	{0},
};
/* clang-format on */

#define DEFAULT_KEYS 256

/* Options about a table's columns, about its rows, about pictures of its histograms, about metrics,
 * and about their presentation. */
static const int column_options[] = {'m', 'q', 'u', 'H', SORT, PRECISION, OPENMETRICS, LE, OTLP, 0};
static const int row_options[] = {'b', 'n', MAX_KEYS, 0};
static const int picture_options[] = {HEATMAP, CHART, 0};
static const int table_options[] = {'b', 'm', 'u', 'H', 'n', SORT, OPENMETRICS, LE, OTLP, 0};

static bool is_one_of(const int *keys, const struct argp_option *option)
{
	while (*keys && option->key != *keys)
		keys++;
	return *keys;
}

/* Whether the tool has an option of its own with that letter. */
static bool is_taken(const struct plumb_tool *tool, int key)
{
	for (const struct argp_option *o = tool->options.list; o && (o->name || o->doc); o++)
		if (o->key == key)
			return true;
	return false;
}

static bool has(const struct plumb_tool *tool, const struct argp_option *option)
{
	if (option->flags & OPTION_HIDDEN && is_taken(tool, option->key))
		return false;
	if (is_one_of(picture_options, option) && (tool->options.lacks & PLUMB_NO_COLUMN_OPTIONS ||
						   !plumb_has_histogram(tool->measure.kind)))
		return false;
	return !(tool->options.lacks & PLUMB_NO_COLUMN_OPTIONS &&
		 is_one_of(column_options, option)) &&
	       !(tool->options.lacks & PLUMB_NO_ROW_OPTIONS && is_one_of(row_options, option)) &&
	       !(tool->options.lacks & PLUMB_NO_TABLE_OPTIONS && is_one_of(table_options, option));
}

static bool has_own(const struct plumb_tool *tool, const char *name)
{
	for (const struct argp_option *o = tool->options.list; o && (o->name || o->doc); o++)
		if (o->name && !strcmp(o->name, name))
			return true;
	return false;
}

const char *plumb_options_habit(const struct plumb_tool *tool, int key)
{
	static const struct argp_option by = {.key = 'b'};

	if (key == 'x' && has_own(tool, "errors"))
		return "calls that failed: --errors";
	if ((key == 'P' || key == 'L') && !has(tool, &by))
		return "-p and -t select processes and threads";
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (common[i].key == key && common[i].flags & OPTION_HIDDEN)
			return common[i].doc;
	return NULL;
}

uint64_t plumb_options_default_keys(const struct plumb_tool *tool)
{
	return tool->keys.max ?: DEFAULT_KEYS;
}

const struct argp_option *plumb_options_of(const struct plumb_tool *tool)
{
	static struct argp_option rest[sizeof(common) / sizeof(common[0])];
	static char keys[128], duration[128];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		if (!has(tool, &common[i]))
			continue;
		rest[n] = common[i];
		if (rest[n].key == MAX_KEYS) {
			snprintf(keys, sizeof(keys), "%s%llu", rest[n].doc,
				 (unsigned long long)plumb_options_default_keys(tool));
			rest[n].doc = keys;
		}
		if (rest[n].key == 'd') {
			snprintf(duration, sizeof(duration), "%s%s)", rest[n].doc,
				 tool->options.duration
					 ?: "at Ctrl-C, SIGTERM or the command's end");
			rest[n].doc = duration;
		}
		n++;
	}
	return rest;
}
