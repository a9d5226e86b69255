/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "merging/options.h"
#include "merging/keys.h"
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/outputs/ladder.h>
#include <stdlib.h>

enum { EVERY = 0x1000, MAX_KEYS, TOOL, LADDER, HGRM, OPENMETRICS, LE, DIFF, FAIL_ABOVE, SORT };

/* clang-format off */
static const struct argp_option own[] = {
	{NULL, 0, NULL, 0, "Merging:", 10},
	{"by", 'b', "KEY[,...]", 0, "keep these keys only; -b help lists them; host: apart by host; none: one row", 10},
	{"every", EVERY, "TIME", 0, "a result for each TIME of the wall clock, such as 1m", 10},
	{"tool", TOOL, "NAME", 0, "merge the reports of this tool, and pass over others", 10},
	{"max-keys", MAX_KEYS, "N", 0, "maximum number of rows; further keys go to [other]; default 1024", 10},
	{"keep-going", 'k', NULL, 0, "leave out lines that cannot be merged; the exit status is 1", 10},
	{NULL, 0, NULL, 0, "Output:", 20},
	{"percentiles", 'q', "LIST", 0, "percentiles to report; default 50,90,99,99.9", 20},
	{"unit", 'u', "auto|ns|us|ms|s", 0, "unit of times in the table", 20},
	{"sort", SORT, "COLUMN", 0, "sort rows by this column, highest first", 20},
	{"top", 'n', "N", 0, "print only the first N rows of the table", 20},
	{"histogram", 'H', NULL, 0, "print a histogram of each row", 20},
	{"ladder", LADDER, NULL, 0, "print percentiles 50 to 99.999 and 100 of each row, and the calls above", 20},
	{"json", 'j', NULL, 0, "print JSON lines, which can be merged again", 20},
	{"hgrm", HGRM, "DIR", 0, "write a file per row for HdrHistogram's plotter there", 20},
	{"openmetrics", OPENMETRICS, "FILE.prom", 0, "write metrics for node_exporter's textfile collector", 20},
	{"le", LE, "LOW:HIGH|LIST", 0, "bounds of its histograms; default 1us:68s, or 64:1M bytes", 20},
	{NULL, 0, NULL, 0, "Comparing:", 30},
	{"diff", DIFF, NULL, 0, "compare two files: is the second one slower?", 30},
	{"fail-above", FAIL_ABOVE, "PCT%", 0, "with --diff: exit with 3 if a percentile's whole interval is above PCT %", 30},
	{0},
};
/* clang-format on */

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

static int add_key(const char *item, void *context)
{
	struct options *o = context;

	if (!strcmp(item, "help")) {
		keys_list(stdout);
		exit(plumb_close_stdout(0));
	}
	if (!keys_known(item))
		plumb_usage_error("--by: no such key: %s; -b help lists them", item);
	if (o->n_by == MERGE_KEYS)
		plumb_usage_error("--by: at most %d", MERGE_KEYS);
	if (!strcmp(item, "none"))
		o->one = true;
	else
		o->by[o->n_by++] = strdup(item);
	return 0;
}

static int add_percentile(const char *item, void *context)
{
	struct options *o = context;
	uint64_t p;

	if (plumb_parse_fixed(item, 6, 1, 100 * PLUMB_PERCENT, &p) ||
	    strlen(item) >= sizeof(o->percentiles[0].name))
		plumb_usage_error("--percentiles: above 0, at most 100, six decimals: %s", item);
	if (o->n_percentiles == OPTIONS_PERCENTILES)
		plumb_usage_error("--percentiles: at most %d", OPTIONS_PERCENTILES);
	for (size_t i = 0; i < o->n_percentiles; i++)
		if (o->percentiles[i].p == p)
			return 0;
	o->percentiles[o->n_percentiles].p = p;
	strcpy(o->percentiles[o->n_percentiles++].name, item);
	return 0;
}

static void parse_list(const char *option, const char *text,
		       int (*each)(const char *item, void *context), struct options *o)
{
	if (plumb_parse_list(text, each, o))
		plumb_usage_error("%s: an empty item in the list: '%s'", option, text);
}

static void parse_unit(struct options *o, const char *text)
{
	static const char *const units[] = {"auto", "ns", "us", "ms", "s"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(text, units[i])) {
			o->unit = i;
			return;
		}
	plumb_usage_error("--unit: auto, ns, us, ms or s, as in -u us: %s", text);
}

/* Minutes and hours, too: parse.h's durations are those of calls. */
static uint64_t parse_every(const char *text)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
	size_t n = strlen(text);
	char digits[8] = "";
	uint64_t value;

	for (size_t i = 0; n > 1 && n <= sizeof(digits) && i < 3; i++) {
		if (text[n - 1] != units[i].unit)
			continue;
		memcpy(digits, text, n - 1);
		digits[n - 1] = 0;
		if (!plumb_parse_u64(digits, 1, 86400 / units[i].seconds, &value))
			return value * units[i].seconds * 1000000000;
	}
	plumb_usage_error("--every: 1s to 24h, as in 10s, 1m or 1h: %s", text);
}

static void parse_fail_above(struct options *o, const char *text)
{
	size_t n = strlen(text);
	char number[16] = "";
	uint64_t millionths;

	if (n && text[n - 1] == '%')
		n--;
	if (n < sizeof(number))
		memcpy(number, text, n);
	if (plumb_parse_fixed(number, 6, 0, 10000 * PLUMB_PERCENT, &millionths))
		plumb_usage_error("--fail-above: a percentage from 0 to 10000, as in 5%%: %s",
				  text);
	o->judge = true;
	o->fail_above = millionths / 1e6;
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
static void finish(struct options *o)
{
	check_metrics(o);
	if (!o->n_files)
		plumb_usage_error("no FILE: what to merge, - for standard input");
	if (!o->n_percentiles)
		parse_list("--percentiles", "50,90,99,99.9", add_percentile, o);
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

static void add_file(struct options *o, char *path)
{
	o->files = reallocarray(o->files, o->n_files + 1, sizeof(*o->files));
	if (!o->files)
		abort();
	o->files[o->n_files++] = path;
}

/* An option's value that is a name. */
static const char *name_of(const char *option, const char *text)
{
	if (!*text)
		plumb_usage_error("%s: no name: '%s'", option, text);
	return text;
}

static bool parse_merging(struct options *o, int key, char *text)
{
	switch (key) {
	case 'b':
		parse_list("--by", text, add_key, o);
		return true;
	case EVERY:
		o->every = parse_every(text);
		return true;
	case TOOL:
		o->tool = name_of("--tool", text);
		return true;
	case MAX_KEYS:
		o->max_keys = plumb_option_number("--max-keys", text, 1, 65536);
		return true;
	case 'k':
		o->keep_going = true;
		return true;
	case DIFF:
		o->diff = true;
		return true;
	case FAIL_ABOVE:
		parse_fail_above(o, text);
		return true;
	default:
		return false;
	}
}

static bool parse_output(struct options *o, int key, char *text)
{
	switch (key) {
	case 'q':
		o->n_percentiles = 0;
		parse_list("--percentiles", text, add_percentile, o);
		return true;
	case 'u':
		parse_unit(o, text);
		return true;
	case SORT:
		if (!sort_parse(text, &o->sort))
			plumb_usage_error(
				"--sort: calls, errors, total, mean, max or a percentile, "
				"as in p99: %s",
				text);
		return true;
	case 'n':
		o->top = plumb_option_number("--top", text, 1, UINT32_MAX);
		return true;
	case 'H':
		o->histogram = true;
		return true;
	case LADDER:
		o->ladder = true;
		return true;
	case 'j':
		o->json = true;
		return true;
	case HGRM:
		o->hgrm = name_of("--hgrm", text);
		return true;
	case OPENMETRICS:
		o->openmetrics = name_of("--openmetrics", text);
		return true;
	case LE:
		o->le = text;
		return true;
	default:
		return false;
	}
}

static int parse(int key, char *text, struct argp_state *state, void *context)
{
	struct options *o = context;

	(void)state;
	if (key == ARGP_KEY_ARG)
		add_file(o, text);
	else if (key == ARGP_KEY_END)
		finish(o);
	else if (!parse_merging(o, key, text) && !parse_output(o, key, text))
		return ARGP_ERR_UNKNOWN;
	return 0;
}

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
		.parse = parse,
	};

	*o = (struct options){.max_keys = 1024};
	plumb_cli_parse(&cli, argc, argv, o);
}
