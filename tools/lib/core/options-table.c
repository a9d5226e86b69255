/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "options-table.h"

#include <plumb/core/tool.h>
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct argp_option common[] = {
	{NULL, 0, NULL, 0, "Duration:", 10},
	{"duration", 'd', "SEC", 0, "stop after SEC seconds (default: ", 10},
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

/* Options about a table's columns, about its rows, and about their presentation. */
static const int column_options[] = {'m', 'q', 'u', 'H', SORT, PRECISION, 0};
static const int row_options[] = {'b', 'n', MAX_KEYS, 0};
static const int table_options[] = {'b', 'm', 'u', 'H', 'n', SORT, 0};

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
