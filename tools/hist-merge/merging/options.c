/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/options.h"
#include "merging/keys.h"
#include "reading/memory.h"
#include <sys/stat.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/percentile.h>
#include <plumb/outputs/ladder.h>

static struct options asked;

static void set_sort(const char *option, const char *text, struct plumb_options *unused)
{
	static const char *const columns[] = {
		[SORT_CALLS] = "calls", [SORT_ERRORS] = "errors", [SORT_TOTAL] = "total",
		[SORT_MEAN] = "mean",   [SORT_MAX] = "max",
	};
	struct sort_by *by = &asked.sort;

	for (size_t i = SORT_CALLS; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strcmp(text, columns[i])) {
			by->column = i;
			return;
		}
	if (!strcmp(text, "help")) {
		for (size_t i = SORT_CALLS; i < sizeof(columns) / sizeof(columns[0]); i++)
			puts(columns[i]);
		puts("p99, or another percentile");
		exit(plumb_close_stdout(0));
	}
	by->column = SORT_PERCENTILE;
	if (*text != 'p' || plumb_parse_fixed(text + 1, 6, 1, 100 * PLUMB_PERCENT, &by->p))
		plumb_usage_error("%s: calls, errors, total, mean, max or a percentile, as in p99: "
				  "%s",
				  option, text);
}

static void add_key(const char *option, const char *item, struct plumb_options *unused)
{
	struct merge_by *by = &asked.by;

	if (!strcmp(item, "help")) {
		keys_list(stdout);
		exit(plumb_close_stdout(0));
	}
	if (!keys_known(item))
		plumb_usage_error("%s: no such key: %s; -b help lists them", option, item);
	if (by->n == MERGE_KEYS)
		plumb_usage_error("%s: at most %d", option, MERGE_KEYS);
	by->host |= !strcmp(item, "host");
	if (!strcmp(item, "none"))
		by->none = true;
	else
		by->keys[by->n++] = strdup(item);
}

static void set_every(const char *option, const char *text, struct plumb_options *unused)
{
	const uint64_t day = 24 * 3600 * PLUMB_SECOND;

	if (strchr(text, '.') || plumb_parse_span(text, PLUMB_SECOND, day, &asked.every))
		plumb_usage_error("%s: 1s to 24h, as in 10s, 1m or 1h: %s", option, text);
}

static void set_fail_above(const char *option, const char *text, struct plumb_options *unused)
{
	size_t n = strlen(text);
	char number[16] = "";
	uint64_t millionths;

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

/* The metrics would replace what is merged. */
static void check_inputs(const struct options *o)
{
	struct stat out, in;

	if (!o->openmetrics || stat(o->openmetrics, &out) || !S_ISREG(out.st_mode))
		return;
	for (size_t i = 0; i < o->n_files; i++)
		if (!stat(o->files[i], &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
			plumb_usage_error("--openmetrics: %s is a file to merge as well",
					  o->openmetrics);
}

static void check_name(const char *option, const char *name)
{
	if (name && !*name)
		plumb_usage_error("%s: no name: ''", option);
}

/* What options do not go together, and defaults. */
static void complete(struct plumb_options *shared)
{
	struct options *o = &asked;

	check_name("--tool", o->tool);
	check_name("--hgrm", o->hgrm);
	check_metrics(o);
	check_inputs(o);
	if (!o->n_files)
		plumb_usage_error("no FILE: what to merge, - for standard input");
	plumb_options_complete_percentiles(shared);
	if (o->by.none && o->by.n)
		plumb_usage_error("--by: none goes with no other key");
	if (o->judge && !o->diff)
		plumb_usage_error("--fail-above: only with --diff");
	if (o->diff && o->n_files != 2)
		plumb_usage_error("--diff: two files, the one before and the one after");
	if (o->diff && (o->every || shared->histogram || o->ladder || o->hgrm))
		plumb_usage_error("--diff: not with --every, --histogram, --ladder or --hgrm");
	if (o->diff && o->sort.column)
		plumb_usage_error("--sort: not with --diff");
	if (o->hgrm && o->every)
		plumb_usage_error("--hgrm: not with --every");
}

static void add_file(const char *path)
{
	struct options *o = &asked;

	o->files = get(reallocarray(o->files, o->n_files + 1, sizeof(*o->files)));
	o->files[o->n_files++] = (char *)path;
}

/* clang-format off */
static const struct plumb_option own[] = {
	{.doc = "Merging:", .group = 10},
	{"by", 'b', "KEY[,...]", "keep these keys only; -b help lists them; host: apart by host; none: one row", 10, .item = add_key},
	{"every", 0, "TIME", "a result for each TIME of the wall clock, such as 1m", 10, .parse = set_every},
	{"tool", 0, "NAME", "merge the reports of this tool, and pass over others", 10, .text = &asked.tool},
	{"max-keys", 0, "N", "maximum number of rows; further keys go to [other]; default 1024", 10, .number = &asked.shared.max_keys, .min = 1, .max = 65536},
	{"keep-going", 'k', NULL, "leave out lines that cannot be merged; the exit status is 1", 10, .given = &asked.keep_going},
	{.doc = "Output:", .group = 20},
	{"percentiles", 'q', "LIST", "percentiles to report; default 50,90,99,99.9", 20, .item = plumb_option_percentile},
	{"unit", 'u', "auto|ns|us|ms|s", "unit of times in the table", 20, .parse = plumb_option_unit},
	{"sort", 0, "COLUMN", "sort rows by this column, highest first", 20, .parse = set_sort},
	{"top", 'n', "N", "print only the first N rows of the table; 0: all", 20, .number = &asked.shared.top, .max = UINT32_MAX},
	{"histogram", 'H', NULL, "print a histogram of each row", 20, .given = &asked.shared.histogram},
	{"ladder", 0, NULL, "print percentiles 50 to 99.999 and 100 of each row, and the calls above", 20, .given = &asked.ladder},
	{"json", 'j', NULL, "print JSON lines, which can be merged again", 20, .given = &asked.shared.json},
	{"hgrm", 0, "DIR", "write a file per row for HdrHistogram's plotter there", 20, .text = &asked.hgrm, .once = true},
	{"openmetrics", 0, "FILE.prom", "write metrics for node_exporter's textfile collector", 20, .text = &asked.openmetrics, .once = true},
	{"le", 0, "LOW:HIGH|LIST", "bounds of its histograms; default 1us:68s, or 64:1M bytes", 20, .text = &asked.le},
	{.doc = "Comparing:", .group = 30},
	{"diff", 0, NULL, "compare two files: is the second one slower?", 30, .given = &asked.diff},
	{"fail-above", 0, "PCT%", "with --diff: exit with 3 if a percentile's whole interval is above PCT %", 30, .parse = set_fail_above},
	/* Options of the tools that print the reports. */
	{.letter = 'T', .instead = "a result for each time: --every"},
	{.letter = 'P', .instead = "a row for each process: -b pid"},
	{.letter = 'L', .instead = "a row for each thread: -b tid"},
	{.letter = 'p', .instead = "all processes of the reports are merged; -b pid keeps them apart"},
	{.letter = 'i', .instead = "a result for each TIME: --every"},
	{.letter = 'd', .instead = "nothing is traced; a result for each TIME: --every"},
	{.letter = 'x', .instead = "calls that failed are counted as ERRORS; --sort=errors"},
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
		.shared = &asked.shared,
	};

	asked.shared.max_keys = 1024;
	plumb_cli_parse(&cli, argc, argv);
	*o = asked;
}
