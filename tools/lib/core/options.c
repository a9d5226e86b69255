/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <plumb/core/glob.h>
#include <plumb/core/cli.h>
#include <plumb/core/clock.h>
#include <plumb/bpf/hist/hist.h>
#include <plumb/core/log.h>
#include <plumb/core/part.h>
#include <plumb/core/options.h>
#include <plumb/core/parse.h>
#include <plumb/core/percentile.h>
#include <plumb/core/report.h>
#include <plumb/core/tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options-table.h"

/* What the parser needs besides the options themselves. */
struct parsing {
	struct plumb_options *options;
	struct plumb_tool *tool;
	const char *what; /* the current option, for messages */
};

static int add_id(struct parsing *p, const char *item, uint32_t *list, uint32_t *n)
{
	uint64_t id;

	if (plumb_parse_u64(item, 1, INT32_MAX, &id))
		plumb_usage_error("%s: not an id: %s", p->what, item);
	if (*n == PLUMB_MAX_LIST)
		plumb_usage_error("%s: at most %d", p->what, PLUMB_MAX_LIST);
	list[(*n)++] = id;
	return 0;
}

static int add_pid(const char *item, void *context)
{
	struct parsing *p = context;

	return add_id(p, item, p->options->pids, &p->options->n_pids);
}

static int add_tid(const char *item, void *context)
{
	struct parsing *p = context;

	return add_id(p, item, p->options->tids, &p->options->n_tids);
}

static int add_comm(const char *item, void *context)
{
	struct parsing *p = context;
	struct plumb_options *o = p->options;

	if (o->n_comms == PLUMB_MAX_LIST)
		plumb_usage_error("--comm: at most %d", PLUMB_MAX_LIST);
	switch (plumb_globs_add(&o->globs, item, o->comms[o->n_comms])) {
	case -ENAMETOOLONG:
		plumb_usage_error("--comm: the kernel keeps %d characters of a name: %s",
				  PLUMB_COMM_LEN - 1, item);
	case -E2BIG:
		plumb_usage_error("--comm: patterns of more than 63 characters together: %s", item);
	case 1:
		o->n_comms++;
	}
	/* At most 64 names, and globs of 64 characters together. */
	o->comms_typed[o->n_comms_typed++] = strdup(item);
	return 0;
}

static int add_cgroup(const char *item, void *context)
{
	struct parsing *p = context;
	struct plumb_options *o = p->options;

	if (o->n_cgroups == PLUMB_MAX_LIST)
		plumb_usage_error("--cgroup: at most %d", PLUMB_MAX_LIST);
	o->cgroups[o->n_cgroups++] = strdup(item);
	return 0;
}

static void list_fields(const struct plumb_tool *tool, FILE *out)
{
	const struct plumb_field *f;

	for (size_t i = 0; (f = plumb_field_at(tool, i)); i++)
		fprintf(out, "%s%s", i ? " " : "", f->name);
	fputc('\n', out);
}

__attribute__((noreturn)) static void list_mechanisms(const struct plumb_tool *tool)
{
	for (size_t i = 0; i < tool->mechanisms.n; i++)
		printf("%s%s", i ? " " : "", tool->mechanisms.list[i].name);
	putchar('\n');
	exit(plumb_close_stdout(0));
}

static int add_key(const char *item, void *context)
{
	struct parsing *p = context;
	const struct plumb_field *f = plumb_field_find(p->tool, item);

	if (!strcmp(item, "help")) {
		list_fields(p->tool, stdout);
		exit(plumb_close_stdout(0));
	}
	/*
	 * The tool's parser first: a name in the list may stand for many keys
	 * ("arg:NAME|N[>>SHIFT]").
	 */
	if (!p->tool->keys.parse || !p->tool->keys.parse(item, p->options)) {
		if (!f)
			plumb_usage_error("--by: no such key: %s; -b help lists them", item);
		p->options->by |= f->bit;
	}
	p->options->by_given = true;
	return 0;
}

static int add_percentile(const char *item, void *context)
{
	struct parsing *p = context;
	struct plumb_options *o = p->options;
	uint64_t value;

	if (plumb_parse_fixed(item, 6, 1, 100 * PLUMB_PERCENT, &value) ||
	    strlen(item) >= sizeof(o->percentiles[0].name))
		plumb_usage_error("--percentiles: above 0, at most 100, six decimals: %s", item);
	if (o->n_percentiles == PLUMB_MAX_PERCENTILES)
		plumb_usage_error("--percentiles: at most %d", PLUMB_MAX_PERCENTILES);
	for (size_t i = 0; i < o->n_percentiles; i++)
		if (o->percentiles[i].p == value)
			return 0;
	o->percentiles[o->n_percentiles].p = value;
	strcpy(o->percentiles[o->n_percentiles++].name, item);
	return 0;
}

static void parse_list(struct parsing *p, const char *what, const char *text,
		       int (*each)(const char *, void *))
{
	p->what = what;
	if (plumb_parse_list(text, each, p))
		plumb_usage_error("%s: an empty item in '%s'", what, text);
}

static void parse_unit(struct parsing *p, const char *text)
{
	static const char *const names[] = {"auto", "ns", "us", "ms", "s"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			p->options->unit = i;
			return;
		}
	}
	plumb_usage_error("--unit: auto, ns, us, ms or s, as in -u us: %s", text);
}

static void parse_strict(struct parsing *p, const char *text)
{
	p->options->strict = true;
	if (text && plumb_parse_fixed(text, 6, 0, 100 * PLUMB_PERCENT, &p->options->strict_percent))
		plumb_usage_error("--strict: a percentage from 0 to 100: %s", text);
}

/* Whether TEXT is meant as a number; "8021q:vlan_*" names functions of a module. */
static bool is_number(const char *text)
{
	return isdigit((unsigned char)text[*text == '.']) && !strchr(text, ':');
}

static void parse_argument(struct plumb_options *o, const char *text)
{
	if (!o->interval)
		o->interval = plumb_option_seconds("INTERVAL", text);
	else if (!o->count)
		o->count = plumb_option_number("COUNT", text, 1, UINT32_MAX);
	else
		plumb_usage_error("unexpected argument: %s (a command goes after --)", text);
}

/*
 * Finds a mechanism by name; exits with a message if there is none.  The tool may have replaced its
 * list by now.
 */
static const struct plumb_mechanism *find_mechanism(const char *name, const struct plumb_tool *tool)
{
	char known[256];
	size_t n = 0;

	for (size_t i = 0; i < tool->mechanisms.n; i++)
		if (!strcmp(name, tool->mechanisms.list[i].name))
			return &tool->mechanisms.list[i];
	for (size_t i = 0; i < tool->mechanisms.n; i++)
		n += snprintf(known + n, sizeof(known) - n, " %s", tool->mechanisms.list[i].name);
	plumb_usage_error("--mechanism: no such mechanism: %s; known:%s", name, known);
}

void plumb_options_check_mechanism(const struct plumb_options *o, const struct plumb_tool *tool)
{
	const struct plumb_mechanism *mechanism =
		o->mechanism ? find_mechanism(o->mechanism, tool) : NULL;
	const char *unsupported =
		mechanism && mechanism->unsupported ? mechanism->unsupported(o) : NULL;

	if (unsupported)
		plumb_usage_error("--mechanism=%s: %s", o->mechanism, unsupported);
}

static void finish(struct parsing *p)
{
	struct plumb_options *o = p->options;
	char known[256];

	if (o->command && (o->n_pids || o->n_tids))
		plumb_usage_error("-p and -t cannot be combined with a command after --");
	if (o->follow && !o->n_pids)
		plumb_usage_error("--follow needs -p: the processes whose descendants are traced");
	if (!o->by_given)
		o->by = p->tool->keys.default_by;
	if (!o->n_percentiles)
		parse_list(p, "--percentiles", "50,90,99,99.9", add_percentile);
	if (o->mechanism)
		find_mechanism(o->mechanism, p->tool);
	plumb_parts_complete(o, p->tool);
	if (o->sort && !plumb_report_has_column(p->tool, o, o->sort, known, sizeof(known)))
		plumb_usage_error("--sort: no such column: %s; known:%s", o->sort, known);
}

/* Parses options that select threads, and the duration; false: KEY is another option. */
static bool parse_choice(int key, const char *text, struct parsing *p)
{
	switch (key) {
	case 'd':
		p->options->duration = plumb_option_seconds("--duration", text);
		return true;
	case 'p':
		parse_list(p, "--pid", text, add_pid);
		return true;
	case 't':
		parse_list(p, "--tid", text, add_tid);
		return true;
	case 'c':
		parse_list(p, "--comm", text, add_comm);
		return true;
	case 'g':
		parse_list(p, "--cgroup", text, add_cgroup);
		return true;
	default:
		return false;
	}
}

/* The same for options of the report. */
static bool parse_report(int key, const char *text, struct parsing *p)
{
	struct plumb_options *o = p->options;

	switch (key) {
	case 'b':
		parse_list(p, "--by", text, add_key);
		return true;
	case 'm':
		o->min_count = plumb_option_number("--min-count", text, 0, UINT64_MAX);
		return true;
	case 'q':
		parse_list(p, "--percentiles", text, add_percentile);
		return true;
	case 'u':
		parse_unit(p, text);
		return true;
	case 'H':
		o->histogram = true;
		return true;
	case 'j':
		o->json = true;
		return true;
	case 'n':
		o->top = plumb_option_number("--top", text, 1, UINT32_MAX);
		return true;
	case SORT:
		o->sort = text;
		return true;
	default:
		return false;
	}
}

/* The same for options of the measurement. */
static bool parse_measure(int key, const char *text, struct parsing *p)
{
	struct plumb_options *o = p->options;

	switch (key) {
	case MAX_KEYS:
		o->max_keys = plumb_option_number("--max-keys", text, 1, 1 << 20);
		o->max_keys_given = true;
		return true;
	case PRECISION:
		o->precision = plumb_option_number("--precision", text, PLUMB_HIST_MIN_PRECISION,
						   PLUMB_HIST_MAX_PRECISION);
		return true;
	case MECHANISM:
		if (!strcmp(text, "help"))
			list_mechanisms(p->tool);
		o->mechanism = text;
		return true;
	case BTF:
		o->btf = text;
		return true;
	case FOLLOW:
		o->follow = true;
		return true;
	case NO_CALIBRATE:
		o->calibrate = false;
		return true;
	case STRICT:
		parse_strict(p, text);
		return true;
	case CHECK_ARGUMENTS:
		o->check_only = true;
		plumb_cli_check_only();
		return true;
	default:
		return false;
	}
}

static int parse(int key, char *text, struct argp_state *state, void *context)
{
	struct parsing *p = context;

	switch (key) {
	case ARGP_KEY_ARG:
		if (!p->tool->options.argument || !p->tool->options.argument(text, is_number(text)))
			parse_argument(p->options, text);
		return 0;
	case ARGP_KEY_END:
		finish(p);
		break;
	default:
		if (parse_choice(key, text, p) || parse_report(key, text, p) ||
		    parse_measure(key, text, p))
			return 0;
		if (plumb_options_habit(p->tool, key))
			plumb_usage_error("-%c: no such option; %s", key,
					  plumb_options_habit(p->tool, key));
	}
	if (p->tool->options.parse)
		return p->tool->options.parse(key, text, state, p->options);
	return key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

void plumb_options_parse(struct plumb_options *options, int argc, char **argv,
			 struct plumb_tool *tool)
{
	struct parsing p = {.options = options, .tool = tool};
	struct plumb_cli cli = {
		.name = tool->card.name,
		.summary = tool->card.summary,
		.about = tool->card.about,
		.options = tool->options.list,
		.more = plumb_options_of(tool),
		.parse = parse,
		.tool = tool,
		.shared = options,
		.command = &options->command,
	};
	char usage[128];

	*options = (struct plumb_options){
		.calibrate = true,
		.max_keys = plumb_options_default_keys(tool),
		.precision = PLUMB_HIST_PRECISION,
	};
	snprintf(usage, sizeof(usage), "%s[INTERVAL [COUNT]]\n%s[-- COMMAND [ARG...]]",
		 tool->options.arguments ?: "", tool->options.arguments ?: "");
	cli.usage = usage;
	plumb_cli_parse(&cli, argc, argv, &p);
	plumb_options_check_mechanism(options, tool);
}
