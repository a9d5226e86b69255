/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <plumb/bpf/user/by-id.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/run.h>
#include <plumb/functions/arg-key.h>
#include <plumb/functions/timed-functions.h>
#include <plumb/inflight/inflight.h>
#include <plumb/user/builds.h>
#include <plumb/user/targets.h>

#include <bpf/libbpf.h>

#include <plumb/bpf/function/function.h>

#include "places.h"
#include "usdt-latency.skel.h"

static struct plumb_arg_key arg_keys[USDT_ENDS];
static char done_item[64]; /* "done.arg:N", as typed */
static __u64 min_ns;
static struct plumb_targets targets;

static bool add_pattern(const char *text, bool number)
{
	if (number)
		return false;
	if (usdt_pair.n_patterns == USDT_ENDS)
		plumb_usage_error("two probes, START and DONE, not a third: %s", text);
	plumb_user_pattern_take(text, "usdt:", &usdt_pair.patterns[usdt_pair.n_patterns++]);
	return true;
}

/* The number of an argument. */
static int parse_number(const char *option, const char *text)
{
	uint64_t n;

	if (plumb_parse_u64(text, 0, PLUMB_USDT_ARGS - 1, &n))
		plumb_usage_error("%s: arg:N, with a number from 0 to %d: %s", option,
				  PLUMB_USDT_ARGS - 1, text);
	return n;
}

/* "arg:N", of both probes, or "arg:N,done.arg:M". */
static void parse_pair(const char *option, const char *text, struct plumb_options *o)
{
	static const char begin[] = "arg:", then[] = ",done.arg:";
	const char *comma = strchr(text, ',');
	char first[32];

	if (strncmp(text, begin, strlen(begin)) || (comma && strncmp(comma, then, strlen(then))))
		plumb_usage_error("%s: arg:N or arg:N,done.arg:M, not %s", option, text);
	snprintf(first, sizeof(first), "%.*s",
		 (int)(comma ? comma - text - strlen(begin) : strlen(text)), text + strlen(begin));
	usdt_pair.key[USDT_START] = parse_number(option, first);
	usdt_pair.key[USDT_DONE] =
		comma ? parse_number(option, comma + strlen(then)) : usdt_pair.key[USDT_START];
}

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Only these:", .group = 30},
	{"min", 0, "TIME", "that took at least TIME (10us, 1.5ms, 2s)", 30, .time = &min_ns},
	{"key", 0, "arg:N[,done.arg:M]", "pair a START and a DONE with equal arguments N (and M), in any threads of a process", 40, .parse = parse_pair},
	{0},
};
/* clang-format on */

static void complete(struct plumb_options *o)
{
	if (usdt_pair.n_patterns != USDT_ENDS)
		plumb_usage_error("two probes are needed: usdt-latency START DONE");
}

/* --- keys --- */

static void format_arg(const void *key, int end, char *text, size_t size)
{
	const struct usdt_key *k = key;

	if (k->unread >> end & 1)
		snprintf(text, size, "?");
	else
		plumb_arg_key_format(&arg_keys[end], k->arg[end], text, size);
}

static void format_start_arg(const void *key, char *text, size_t size)
{
	format_arg(key, USDT_START, text, size);
}

static void format_done_arg(const void *key, char *text, size_t size)
{
	format_arg(key, USDT_DONE, text, size);
}

/* parse_key() replaces the names by the items of --by. */
static struct plumb_field fields[USDT_ENDS] = {
	{"arg:N[>>SHIFT]", USDT_BY_ARG(USDT_START), .number = true, .format = format_start_arg},
	{"done.arg:N[>>SHIFT]", USDT_BY_ARG(USDT_DONE), .number = true, .format = format_done_arg},
};

static bool parse_key(const char *item, struct plumb_options *o)
{
	const int end = strncmp(item, "done.", 5) ? USDT_START : USDT_DONE;
	struct plumb_arg_key *key = &arg_keys[end];

	if (!plumb_arg_key_parse(key, end == USDT_DONE ? item + 5 : item))
		return false;
	usdt_pair.by[end] = parse_number("--by", key->name);
	fields[end].name = key->item;
	if (end == USDT_DONE) {
		snprintf(done_item, sizeof(done_item), "%s", item);
		fields[end].name = done_item;
	}
	o->by |= USDT_BY_ARG(end);
	return true;
}

static const struct plumb_builds_use use = {.check = usdt_places_check,
					    .attach = usdt_places_attach};

static int prepare(struct plumb_options *o)
{
	int err = plumb_builds_open(&targets, usdt_pair.patterns, USDT_ENDS, &use, o);

	for (int end = 0; end < USDT_ENDS; end++) {
		arg_keys[end].arg.bits = 64;
		arg_keys[end].arg.is_signed = usdt_pair.is_signed[end];
	}
	return err;
}

/* --- mechanisms --- */

enum { MULTI, SINGLE };

const struct plumb_attach_target usdt_hooks[][USDT_ENDS + 1] = {
	[MULTI] = {{"usdt_start", PLUMB_UPROBE_MULTI}, {"usdt_done", PLUMB_UPROBE_MULTI}, {}},
	[SINGLE] = {{"usdt_start", PLUMB_UPROBE}, {"usdt_done", PLUMB_UPROBE}, {}},
};

static void name_hook(struct plumb_bpf *bpf, int end)
{
	const struct plumb_user_pattern *p = &usdt_pair.patterns[end];

	snprintf(bpf->hooks[end], sizeof(bpf->hooks[end]), "usdt:%s:%s", p->file, p->name);
}

static int open_probes(struct plumb_bpf *bpf, bool calibration)
{
	const int mode = bpf->mode;
	struct usdt_latency_bpf *skel = usdt_latency_bpf__open_opts(plumb_open_opts());

	if (!skel)
		return -errno;
	*bpf = PLUMB_BPF_OF(skel, "");
	bpf->function = (struct function_config *)&skel->rodata->function_config;
	bpf->function->calibration = calibration;
	bpf->function->min_ns = calibration ? 0 : min_ns;
	skel->rodata->usdt_config.by_argument = usdt_pair.key[USDT_START] != USDT_NO_ARGUMENT;
	if (skel->rodata->usdt_config.by_argument)
		bpf->states = PLUMB_STATES_BY_ID;
	bpf->mode = mode;
	for (int i = 0; i < USDT_ENDS; i++) {
		skel->rodata->usdt_config.shift[i] = arg_keys[i].arg.shift;
		skel->rodata->usdt_config.is_signed[i] = arg_keys[i].arg.is_signed;
		name_hook(bpf, i);
	}
	return plumb_builds_configure(bpf, usdt_hooks[mode], calibration);
}

static const struct plumb_mechanism mechanisms[] = {
	{"uprobe.multi", "as stable as the program", .open = open_probes, .mode = MULTI},
	{"uprobe", "as stable as the program", .open = open_probes, .mode = SINGLE},
};

static void name_flight(const struct plumb_run *run, const struct plumb_flight *f, char *text,
			size_t size)
{
	snprintf(text, size, "usdt:%s:%s", usdt_pair.patterns[USDT_START].file,
		 usdt_pair.patterns[USDT_START].name);
}

static const struct plumb_inflight inflight = {
	.kind = &plumb_functions_inflight,
	.heading = "START",
	.json = "start",
	.min_ns = (const __u64 *)&min_ns,
	.name = name_flight,
};

static struct plumb_tool tool = {
	.card.name = "usdt-latency",
	.card.summary = "Summarize the time from one USDT probe to another as percentiles.",
	.card.about = "hooks:     uprobe.multi, uprobe on the places of the probes\n"
		      "           (as stable as the program)\n"
		      "kernels:   6.18 locked down; 5.10, 6.1, 6.12 emulated; x86_64\n"
		      "fire rate: that of the probes: func-count shows it\n",
	.options.list = options,
	.options.complete = complete,
	.options.arguments = "START DONE ",
	.options.argument = add_pattern,
	.measure.pairs = true,
	.keys.fields = fields,
	.keys.n_fields = USDT_ENDS,
	.keys.size = sizeof(struct usdt_key),
	.keys.parse = parse_key,
	.keys.default_by = PLUMB_BY_COMM,
	.overhead.calibrate = usdt_calibrate,
	.overhead.traced = "a pair",
	.mechanisms.list = mechanisms,
	.mechanisms.n = sizeof(mechanisms) / sizeof(mechanisms[0]),
	.lifecycle.prepare = prepare,
	.files = &plumb_builds,
	.inflight = &inflight,
};

int main(int argc, char **argv)
{
	return plumb_main(argc, argv, &tool);
}
