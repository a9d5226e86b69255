/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/core/glob.h>
#include <plumb/core/log.h>
#include <plumb/core/options.h>
#include <plumb/core/parse.h>
#include <plumb/core/part.h>
#include <plumb/core/percentile.h>
#include <plumb/core/report.h>
#include <plumb/core/stacking.h>
#include <plumb/core/tool.h>

/* The command line, and the tool that it is for. */
static struct plumb_options asked;
static struct plumb_tool *tool;

static void add_id(const char *option, const char *item, uint32_t *list, uint32_t *n)
{
	uint64_t id;

	if (plumb_parse_u64(item, 1, INT32_MAX, &id))
		plumb_usage_error("%s: not an id: %s", option, item);
	if (*n == PLUMB_MAX_LIST)
		plumb_usage_error("%s: at most %d", option, PLUMB_MAX_LIST);
	list[(*n)++] = id;
}

static void add_pid(const char *option, const char *item, struct plumb_options *o)
{
	add_id(option, item, o->pids, &o->n_pids);
}

static void add_tid(const char *option, const char *item, struct plumb_options *o)
{
	add_id(option, item, o->tids, &o->n_tids);
}

static void add_comm(const char *option, const char *item, struct plumb_options *o)
{
	if (o->n_comms == PLUMB_MAX_LIST)
		plumb_usage_error("%s: at most %d", option, PLUMB_MAX_LIST);
	switch (plumb_globs_add(&o->globs, item, o->comms[o->n_comms])) {
	case -ENAMETOOLONG:
		plumb_usage_error("%s: the kernel keeps %d characters of a name: %s", option,
				  PLUMB_COMM_LEN - 1, item);
	case -E2BIG:
		plumb_usage_error("%s: patterns of more than 63 characters together: %s", option,
				  item);
	case 1:
		o->n_comms++;
	}
	/* At most 64 names, and globs of 64 characters together. */
	o->comms_typed[o->n_comms_typed++] = strdup(item);
}

static void add_cgroup(const char *option, const char *item, struct plumb_options *o)
{
	if (o->n_cgroups == PLUMB_MAX_LIST)
		plumb_usage_error("%s: at most %d", option, PLUMB_MAX_LIST);
	o->cgroups[o->n_cgroups++] = strdup(item);
}

__attribute__((noreturn)) static void list_fields(void)
{
	const struct plumb_field *f;

	for (size_t i = 0; (f = plumb_field_at(tool, i)); i++)
		printf("%s%s", i ? " " : "", f->name);
	putchar('\n');
	exit(plumb_close_stdout(0));
}

__attribute__((noreturn)) static void list_mechanisms(void)
{
	for (size_t i = 0; i < tool->mechanisms.n; i++)
		printf("%s%s", i ? " " : "", tool->mechanisms.list[i].name);
	putchar('\n');
	exit(plumb_close_stdout(0));
}

static void add_key(const char *option, const char *item, struct plumb_options *o)
{
	const struct plumb_field *f = plumb_field_find(tool, item);

	if (!strcmp(item, "help"))
		list_fields();
	/*
	 * The tool's parser first: a name in the list may stand for many keys
	 * ("arg:NAME|N[>>SHIFT]").
	 */
	if (!tool->keys.parse || !tool->keys.parse(item, o)) {
		if (!f)
			plumb_usage_error("%s: no such key: %s; -b help lists them", option, item);
		o->by |= f->bit;
	}
	o->by_given = true;
}

void plumb_option_percentile(const char *option, const char *item, struct plumb_options *o)
{
	uint64_t value;

	if (plumb_parse_fixed(item, 6, 1, 100 * PLUMB_PERCENT, &value) ||
	    strlen(item) >= sizeof(o->percentiles[0].name))
		plumb_usage_error("%s: above 0, at most 100, six decimals: %s", option, item);
	if (o->n_percentiles == PLUMB_MAX_PERCENTILES)
		plumb_usage_error("%s: at most %d", option, PLUMB_MAX_PERCENTILES);
	for (size_t i = 0; i < o->n_percentiles; i++)
		if (o->percentiles[i].p == value)
			return;
	o->percentiles[o->n_percentiles].p = value;
	strcpy(o->percentiles[o->n_percentiles++].name, item);
}

void plumb_option_unit(const char *option, const char *text, struct plumb_options *o)
{
	static const char *const names[] = {"auto", "ns", "us", "ms", "s"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			o->unit = i;
			return;
		}
	}
	plumb_usage_error("%s: auto, ns, us, ms or s, as in -u us: %s", option, text);
}

static void parse_strict(const char *option, const char *text, struct plumb_options *o)
{
	if (text && plumb_parse_fixed(text, 6, 0, 100 * PLUMB_PERCENT, &o->strict_percent))
		plumb_usage_error("%s: a percentage from 0 to 100: %s", option, text);
}

static void parse_mechanism(const char *option, const char *text, struct plumb_options *o)
{
	if (!strcmp(text, "help"))
		list_mechanisms();
	o->mechanism = text;
}

enum {
	COLUMNS = PLUMB_NO_COLUMN_OPTIONS,
	ROWS = PLUMB_NO_ROW_OPTIONS,
	TABLE = PLUMB_NO_TABLE_OPTIONS,
	HISTOGRAM = PLUMB_NO_HISTOGRAM_OPTIONS,
	TIMES = PLUMB_NO_TIME_OPTIONS,
};

static void set_no_calibrate(const char *option, const char *text, struct plumb_options *o)
{
	(void)option, (void)text;
	o->calibrate = false;
}

/* clang-format off */
static const struct {
	unsigned int lacked; /* by tools that lack these (PLUMB_NO_...) */
	struct plumb_option option;
} common[] = {
	{0, {.doc = "Duration:", .group = 10}},
	{0, {"duration", 'd', "SEC", "stop after SEC seconds (default: ", 10, .seconds = &asked.duration}},
	{0, {.doc = "Filters (trace only these):", .group = 20}},
	{0, {"pid", 'p', "PID[,...]", "processes", 20, .item = add_pid}},
	{0, {"follow", 0, NULL, "with -p: and the processes that they start from now on", 20, .given = &asked.follow}},
	{0, {"tid", 't', "TID[,...]", "threads", 20, .item = add_tid}},
	{0, {"comm", 'c', "NAME[,...]", "threads with one of these names", 20, .item = add_comm}},
	{0, {"cgroup", 'g', "PATH[,...]", "cgroups (v2) and those below; container:NAME, pod:NS/NAME", 20, .item = add_cgroup}},
	{0, {.doc = "Output:", .group = 40}},
	{ROWS | TABLE, {"by", 'b', "KEY[,...]", "group by these keys; -b help lists them", 40, .item = add_key}},
	{COLUMNS | TABLE, {"min-count", 'm', "N", "omit rows of fewer than N calls from the table", 40, .number = &asked.min_count, .max = UINT64_MAX}},
	{COLUMNS | HISTOGRAM, {"percentiles", 'q', "LIST", "percentiles to report; default 50,90,99,99.9", 40, .item = plumb_option_percentile}},
	{COLUMNS | TABLE | TIMES, {"unit", 'u', "auto|ns|us|ms|s", "unit of times in the table", 40, .parse = plumb_option_unit}},
	{COLUMNS | TABLE | HISTOGRAM, {"histogram", 'H', NULL, "print a histogram below each row", 40, .given = &asked.histogram}},
	{0, {"json", 'j', NULL, "print JSON lines, one object per report", 40, .given = &asked.json}},
	{ROWS | TABLE, {"top", 'n', "N", "print only the first N rows of the table; 0: all; default: those for which a terminal has lines", 40, .number = &asked.top, .given = &asked.top_given, .max = UINT32_MAX}},
	{COLUMNS | TABLE, {"sort", 0, "COLUMN", "sort rows by this column, highest first; help lists them", 40, .text = &asked.sort}},
	{COLUMNS | TABLE, {"columns", 0, "NAME[,...]", "the figures of the table; help lists them", 40, .text = &asked.columns}},
	{0, {.doc = "Measurement:", .group = 60}},
	{ROWS, {"max-keys", 0, "N", "maximum number of rows; further keys go to [other]; default ", 60, .number = &asked.max_keys, .given = &asked.max_keys_given, .min = 1, .max = 1 << 20}},
	{COLUMNS | HISTOGRAM, {"precision", 0, "BITS", "error bound of percentiles: at most 1/2^BITS too high; 1 to 10, default 6", 60, .number = &asked.precision, .min = PLUMB_HIST_MIN_PRECISION, .max = PLUMB_HIST_MAX_PRECISION}},
	{0, {"mechanism", 0, "NAME", "use this mechanism or fail; help lists them, -v shows those tried", 60, .parse = parse_mechanism}},
	{0, {"btf", 0, "FILE", "read kernel types from FILE if /sys/kernel/btf has none", 60, .text = &asked.btf}},
	{0, {"no-calibrate", 0, NULL, "do not measure the cost of tracing at the start", 60, .parse = set_no_calibrate}},
	{0, {"strict", 0, "PCT", "exit 3 if more than PCT % (default 0) of the calls were lost", 60, .optional = true, .given = &asked.strict, .parse = parse_strict}},
	{0, {"check-arguments", 0, NULL, "check the arguments and exit, without tracing", 60, .given = &asked.check_only, .act = plumb_cli_check_only}},
	/* Options of BCC's tools. */
	{0, {.letter = 'T', .instead = "each report has its time where there is an INTERVAL, and JSON (-j) always"}},
	{0, {.letter = 'P', .instead = "a row for each process: -b pid"}},
	{0, {.letter = 'L', .instead = "a row for each thread: -b tid"}},
	{0, {.letter = 'i', .instead = "seconds between reports are an argument: INTERVAL"}},
	{0, {.letter = 'x', .instead = "calls that failed: syscall-latency --errors"}},
};
/* clang-format on */

#define DEFAULT_KEYS 256

static uint64_t default_keys(void)
{
	return tool->keys.max ?: DEFAULT_KEYS;
}

static bool has(const struct plumb_option *o, unsigned int lacked)
{
	const struct plumb_option *own = tool->options.list;

	if (o->instead) /* unless the tool has an option with that letter */
		for (; own && (own->name || own->doc); own++)
			if (own->letter == o->letter)
				return false;
	return !(tool->options.lacks & lacked);
}

/* The common options that the tool has, as it has them. */
static const struct plumb_option *common_options(void)
{
	static struct plumb_option options[sizeof(common) / sizeof(common[0]) + 1];
	static char keys[128], duration[128];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++) {
		struct plumb_option *o = &options[n];

		if (!has(&common[i].option, common[i].lacked))
			continue;
		*o = common[i].option;
		n++;
		if (o->number == &asked.max_keys) {
			snprintf(keys, sizeof(keys), "%s%llu", o->doc,
				 (unsigned long long)default_keys());
			o->doc = keys;
		}
		if (o->seconds == &asked.duration) {
			snprintf(duration, sizeof(duration), "%s%s)", o->doc,
				 tool->options.duration
					 ?: "at Ctrl-C, SIGTERM or the command's end");
			o->doc = duration;
		}
		if (o->letter == 'x' && (plumb_option_is_among(tool->options.list, "errors") ||
					 plumb_option_is_among(tool->options.more, "errors")))
			o->instead = "calls that failed: --errors";
		if (strchr("PL", o->letter) && o->letter && tool->options.lacks & (ROWS | TABLE))
			o->instead = "-p and -t select processes and threads";
	}
	options[n] = (struct plumb_option){};
	return options;
}

/* Whether TEXT is meant as a number; "8021q:vlan_*" names functions of a module. */
static bool is_number(const char *text)
{
	return isdigit((unsigned char)text[*text == '.']) && !strchr(text, ':');
}

static void take_argument(const char *text)
{
	if (tool->options.argument && tool->options.argument(text, is_number(text)))
		return;
	if (!asked.interval)
		asked.interval = plumb_option_seconds("INTERVAL", text);
	else if (!asked.count)
		asked.count = plumb_option_number("COUNT", text, 1, UINT32_MAX);
	else
		plumb_usage_error("unexpected argument: %s (a command goes after --)", text);
}

/*
 * Finds a mechanism by name; exits with a message if there is none.  The tool may have replaced its
 * list by now.
 */
static const struct plumb_mechanism *find_mechanism(const char *name, const struct plumb_tool *t)
{
	char known[256];
	size_t n = 0;

	for (size_t i = 0; i < t->mechanisms.n; i++)
		if (!strcmp(name, t->mechanisms.list[i].name))
			return &t->mechanisms.list[i];
	for (size_t i = 0; i < t->mechanisms.n; i++)
		n += snprintf(known + n, sizeof(known) - n, " %s", t->mechanisms.list[i].name);
	plumb_usage_error("--mechanism: no such mechanism: %s; known:%s", name, known);
}

void plumb_options_check_mechanism(const struct plumb_options *o, const struct plumb_tool *t)
{
	const struct plumb_mechanism *mechanism =
		o->mechanism ? find_mechanism(o->mechanism, t) : NULL;
	const char *unsupported =
		mechanism && mechanism->unsupported ? mechanism->unsupported(o) : NULL;

	if (unsupported)
		plumb_usage_error("--mechanism=%s: %s", o->mechanism, unsupported);
}

void plumb_options_complete_percentiles(struct plumb_options *o)
{
	static const char *const names[] = {"50", "90", "99", "99.9"};

	if (o->n_percentiles)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		plumb_option_percentile("--percentiles", names[i], o);
}

static void complete(struct plumb_options *o)
{
	if (o->command && (o->n_pids || o->n_tids))
		plumb_usage_error("-p and -t cannot be combined with a command after --");
	if (o->follow && !o->n_pids)
		plumb_usage_error("--follow needs -p: the processes whose descendants are traced");
	if (!o->by_given)
		o->by = tool->keys.default_by;
	plumb_options_complete_percentiles(o);
	if (o->mechanism)
		find_mechanism(o->mechanism, tool);
	plumb_parts_complete(o, tool);
	plumb_report_check_columns(tool, o);
	if (tool->options.complete)
		tool->options.complete(o);
	if (tool->options.syscalls)
		tool->options.syscalls->complete(tool->options.syscalls->selection);
	if (tool->stacking && tool->stacking->complete)
		tool->stacking->complete(o, tool);
}

void plumb_options_parse(struct plumb_options *options, int argc, char **argv,
			 struct plumb_tool *of)
{
	struct plumb_cli cli = {
		.name = of->card.name,
		.summary = of->card.summary,
		.about = of->card.about,
		.options = of->options.list,
		.of_library = of->options.more,
		.argument = take_argument,
		.complete = complete,
		.tool = of,
		.shared = &asked,
		.command = &asked.command,
	};
	char usage[128];

	tool = of;
	asked = (struct plumb_options){
		.calibrate = true,
		.split = of->measure.always_split,
		.max_keys = default_keys(),
		.precision = PLUMB_HIST_PRECISION,
	};
	cli.more = common_options();
	snprintf(usage, sizeof(usage), "%s[INTERVAL [COUNT]]\n%s[-- COMMAND [ARG...]]",
		 tool->options.arguments ?: "", tool->options.arguments ?: "");
	cli.usage = usage;
	plumb_cli_parse(&cli, argc, argv);
	*options = asked;
	plumb_options_check_mechanism(options, tool);
}
