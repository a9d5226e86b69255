/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/options.h"
#include "merging/keys.h"
#include <stdlib.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/outputs/ladder.h>

static struct options asked;

static const char *const columns[] = {
	[SORT_CALLS] = "calls", [SORT_ERRORS] = "errors", [SORT_TOTAL] = "total",
	[SORT_MEAN] = "mean",   [SORT_MAX] = "max",
};

/* Whether there is such a column; pN is any percentile. */
static bool sort_parse(const char *name, struct sort_by *by)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strcmp(name, columns[i])) {
			by->column = i;
			return true;
		}
	by->column = SORT_PERCENTILE;
	return *name == 'p' && !plumb_parse_fixed(name + 1, 6, 1, 100 * PLUMB_PERCENT, &by->p);
}

static void add_key(const char *option, const char *item, struct plumb_options *unused)
{
	struct options *o = &asked;

	(void)unused;
	if (!strcmp(item, "help")) {
		keys_list(stdout);
		exit(plumb_close_stdout(0));
	}
	if (!keys_known(item))
		plumb_usage_error("%s: no such key: %s; -b help lists them", option, item);
	if (o->n_by == MERGE_KEYS)
		plumb_usage_error("%s: at most %d", option, MERGE_KEYS);
	if (!strcmp(item, "none"))
		o->one = true;
	else
		o->by[o->n_by++] = strdup(item);
}

static void add_percentile(const char *option, const char *item, struct plumb_options *unused)
{
	struct options *o = &asked;
	uint64_t p;

	(void)unused;
	if (plumb_parse_fixed(item, 6, 1, 100 * PLUMB_PERCENT, &p) ||
	    strlen(item) >= sizeof(o->percentiles[0].name))
		plumb_usage_error("%s: above 0, at most 100, six decimals: %s", option, item);
	if (o->n_percentiles == OPTIONS_PERCENTILES)
		plumb_usage_error("%s: at most %d", option, OPTIONS_PERCENTILES);
	for (size_t i = 0; i < o->n_percentiles; i++)
		if (o->percentiles[i].p == p)
			return;
	o->percentiles[o->n_percentiles].p = p;
	strcpy(o->percentiles[o->n_percentiles++].name, item);
}

static void parse_unit(const char *option, const char *text, struct plumb_options *unused)
{
	static const char *const units[] = {"auto", "ns", "us", "ms", "s"};

	(void)unused;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(text, units[i])) {
			asked.unit = i;
			return;
		}
	plumb_usage_error("%s: auto, ns, us, ms or s, as in -u us: %s", option, text);
}

/* Minutes and hours, too: parse.h's durations are those of calls. */
static void set_every(const char *option, const char *text, struct plumb_options *unused)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
	size_t n = strlen(text);
	char digits[8] = "";
	uint64_t value;

	(void)unused;
	for (size_t i = 0; n > 1 && n <= sizeof(digits) && i < 3; i++) {
		if (text[n - 1] != units[i].unit)
			continue;
		memcpy(digits, text, n - 1);
		digits[n - 1] = 0;
		if (!plumb_parse_u64(digits, 1, 86400 / units[i].seconds, &value)) {
			asked.every = value * units[i].seconds * 1000000000;
			return;
		}
	}
	plumb_usage_error("%s: 1s to 24h, as in 10s, 1m or 1h: %s", option, text);
}

static void set_fail_above(const char *option, const char *text, struct plumb_options *unused)
{
	size_t n = strlen(text);
	char number[16] = "";
	uint64_t millionths;

	(void)unused;
	if (n && text[n - 1] == '%')
		n--;
	if (n < sizeof(number))
		memcpy(number, text, n);
	if (plumb_parse_fixed(number, 6, 0, 10000 * PLUMB_PERCENT, &millionths))
		plumb_usage_error("%s: a percentage from 0 to 10000, as in 5%%: %s", option, text);
	asked.judge = true;
	asked.fail_above = millionths / 1e6;
}

/* The same as those of the tools. */
static void check_metrics(const struct options *o)
{
	const char *dot = o->openmetrics ? strrchr(o->openmetrics, '.') : NULL;
	struct plumb_ladder l;

	if (o->openmetrics && (!dot || dot == o->openmetrics || strcmp(dot, ".prom")))
		plumb_usage_error("--openmetrics: node_exporter reads files whose names end with "
				  ".prom: %s",
				  o->openmetrics);
	if (o->openmetrics && (o->every || o->diff || o->hgrm))
		plumb_usage_error("--openmetrics: not with --every, --diff or --hgrm");
	if (o->le && !o->openmetrics)
		plumb_usage_error("--le %s: the bounds of --openmetrics, which is not given",
				  o->le);
	if (o->le && plumb_ladder_parse(&l, o->le, false) && plumb_ladder_parse(&l, o->le, true))
		plumb_usage_error("--le: LOW:HIGH or ascending bounds, at most %d, as in 10us:1s, "
				  "1ms,10ms or 64:64K: %s",
				  PLUMB_MAX_BOUNDS, o->le);
}

/* What options do not go together, and defaults. */
static void complete(struct plumb_options *unused)
{
	static const char *const percentiles[] = {"50", "90", "99", "99.9"};
	struct options *o = &asked;

	(void)unused;
	check_metrics(o);
	if (!o->n_files)
		plumb_usage_error("no FILE: what to merge, - for standard input");
	if (!o->n_percentiles)
		for (size_t i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
			add_percentile("--percentiles", percentiles[i], NULL);
	if (o->one && o->n_by)
		plumb_usage_error("--by: none goes with no other key");
	if (o->judge && !o->diff)
		plumb_usage_error("--fail-above: only with --diff");
	if (o->diff && o->n_files != 2)
		plumb_usage_error("--diff: two files, the one before and the one after");
	if (o->diff && (o->every || o->histogram || o->ladder || o->hgrm))
		plumb_usage_error("--diff: not with --every, --histogram, --ladder or --hgrm");
	if (o->diff && o->sort.column)
		plumb_usage_error("--sort: not with --diff");
	if (o->hgrm && o->every)
		plumb_usage_error("--hgrm: not with --every");
}

static void add_file(const char *path)
{
	struct options *o = &asked;

	o->files = reallocarray(o->files, o->n_files + 1, sizeof(*o->files));
	if (!o->files)
		abort();
	o->files[o->n_files++] = (char *)path;
}

/* An option's value that is a name. */
static const char *name_of(const char *option, const char *text)
{
	if (!*text)
		plumb_usage_error("%s: no name: '%s'", option, text);
	return text;
}

static void set_tool(const char *option, const char *text, struct plumb_options *unused)
{
	(void)unused;
	asked.tool = name_of(option, text);
}

static void set_hgrm(const char *option, const char *text, struct plumb_options *unused)
{
	(void)unused;
	asked.hgrm = name_of(option, text);
}

static void set_openmetrics(const char *option, const char *text, struct plumb_options *unused)
{
	(void)unused;
	asked.openmetrics = name_of(option, text);
}

static void set_sort(const char *option, const char *text, struct plumb_options *unused)
{
	(void)unused;
	if (!sort_parse(text, &asked.sort))
		plumb_usage_error("%s: calls, errors, total, mean, max or a percentile, as in p99: "
				  "%s",
				  option, text);
}

/* clang-format off */
static const struct plumb_option own[] = {
	{.doc = "Merging:", .group = 10},
	{"by", 'b', "KEY[,...]", "keep these keys only; -b help lists them; host: apart by host; none: one row", 10, .item = add_key},
	{"every", 0, "TIME", "a result for each TIME of the wall clock, such as 1m", 10, .parse = set_every},
	{"tool", 0, "NAME", "merge the reports of this tool, and pass over others", 10, .parse = set_tool},
	{"max-keys", 0, "N", "maximum number of rows; further keys go to [other]; default 1024", 10, .number = &asked.max_keys, .min = 1, .max = 65536},
	{"keep-going", 'k', NULL, "leave out lines that cannot be merged; the exit status is 1", 10, .given = &asked.keep_going},
	{.doc = "Output:", .group = 20},
	{"percentiles", 'q', "LIST", "percentiles to report; default 50,90,99,99.9", 20, .item = add_percentile},
	{"unit", 'u', "auto|ns|us|ms|s", "unit of times in the table", 20, .parse = parse_unit},
	{"sort", 0, "COLUMN", "sort rows by this column, highest first", 20, .parse = set_sort},
	{"top", 'n', "N", "print only the first N rows of the table", 20, .number = &asked.top, .min = 1, .max = UINT32_MAX},
	{"histogram", 'H', NULL, "print a histogram of each row", 20, .given = &asked.histogram},
	{"ladder", 0, NULL, "print percentiles 50 to 99.999 and 100 of each row, and the calls above", 20, .given = &asked.ladder},
	{"json", 'j', NULL, "print JSON lines, which can be merged again", 20, .given = &asked.json},
	{"hgrm", 0, "DIR", "write a file per row for HdrHistogram's plotter there", 20, .parse = set_hgrm},
	{"openmetrics", 0, "FILE.prom", "write metrics for node_exporter's textfile collector", 20, .parse = set_openmetrics},
	{"le", 0, "LOW:HIGH|LIST", "bounds of its histograms; default 1us:68s, or 64:1M bytes", 20, .text = &asked.le},
	{.doc = "Comparing:", .group = 30},
	{"diff", 0, NULL, "compare two files: is the second one slower?", 30, .given = &asked.diff},
	{"fail-above", 0, "PCT%", "with --diff: exit with 3 if a percentile's whole interval is above PCT %", 30, .parse = set_fail_above},
	{0},
};
/* clang-format on */

void options_parse(struct options *o, int argc, char **argv)
{
	static const struct plumb_cli cli = {
		.name = "hist-merge",
		.summary = "Merge the histograms of many reports, of hosts and times, exactly; "
			   "compare two.",
		.about = "hooks:     none; it reads what other tools printed with --json\n"
			 "kernels:   any\n"
			 "fire rate: none\n"
			 "cost:      none while tools trace\n",
		.usage = "FILE...\n--diff BEFORE AFTER",
		.options = own,
		.argument = add_file,
		.complete = complete,
	};

	asked.max_keys = 1024;
	plumb_cli_parse(&cli, argc, argv);
	*o = asked;
}
