/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/text.h>
#include <plumb/guard/confine.h>
#include <plumb/terminal/progress.h>

/* With fewer pairs the interval cannot be one of 95 %. */
#define LEAST_PAIRS 5

/* After its ready line a tool may still have work to do, on the CPU that the workload would get. */
#define SETTLE_NS 20000000

/* In addition to the exit statuses of all tools. */
enum { EXIT_UNDECIDED = 4 };

static struct options {
	struct run_plan plan;
	__u64 pairs, seed;
	double limit;
	bool json;
} asked = {.pairs = 10, .limit = 5};

static const char *compile(const char *option, const char *text, regex_t *regex, size_t groups)
{
	char why[128];
	int err = regcomp(regex, text, REG_EXTENDED);

	if (err) {
		regerror(err, regex, why, sizeof(why));
		plumb_usage_error("%s: %s: '%s'", option, why, text);
	}
	if (regex->re_nsub < groups)
		plumb_usage_error("%s: no (...) for the figure in '%s'", option, text);
	return text;
}

static void set_tool(const char *option, const char *text, struct plumb_options *o)
{
	if (!*text)
		plumb_usage_error("%s: no command line: '%s'", option, text);
	asked.plan.tool = text;
}

static void set_ready(const char *option, const char *text, struct plumb_options *o)
{
	asked.plan.ready = compile(option, text, &asked.plan.ready_regex, 0);
}

static void set_metric(const char *option, const char *text, struct plumb_options *o)
{
	asked.plan.metric = compile(option, text, &asked.plan.metric_regex, 1);
}

static void set_limit(const char *option, const char *text, struct plumb_options *o)
{
	uint64_t millionths;

	if (plumb_parse_fixed(text, 6, 1, 100000000, &millionths))
		plumb_usage_error("%s: a percentage above 0, at most 100: %s", option, text);
	asked.limit = millionths / 1e6;
}

/* Check for a tool before anything runs, and set defaults. */
static void complete(struct plumb_options *unused)
{
	struct run_plan *p = &asked.plan;

	if (!p->tool)
		plumb_usage_error("--tool is missing: the tool's command line");
	if (!p->ready && !p->settle)
		p->ready = compile("--ready", "[Tt]racing", &p->ready_regex, 0);
	if (!p->settle)
		p->settle = SETTLE_NS;
}

static void take_argument(const char *text)
{
	plumb_usage_error("unexpected argument: %s (the workload goes after --)", text);
}

/* clang-format off */
static const struct plumb_option own[] = {
	{.doc = "Runs:", .group = 10},
	{"tool", 0, "LINE", "the tool's command line; {} is replaced by the workload's pid", 10, .parse = set_tool},
	{"ready", 0, "REGEX", "the tool is ready when it prints a matching line; default [Tt]racing", 10, .parse = set_ready},
	{"settle", 0, "SEC", "the tool is ready SEC seconds after its start, or after the line of --ready", 10, .seconds = &asked.plan.settle},
	{"pairs", 0, "N", "make N runs with the tool and N without; at least 5, default 10", 10, .number = &asked.pairs, .min = LEAST_PAIRS, .max = JUDGE_MOST},
	{"seed", 0, "N", "random seed for the order within pairs and the bootstrap", 10, .number = &asked.seed, .max = UINT32_MAX},
	{.doc = "Output:", .group = 20},
	{"metric", 0, "REGEX", "also compare a figure that the workload prints; REGEX captures it in (...)", 20, .parse = set_metric},
	{"limit", 0, "PCT", "changes of up to PCT % do not count as bias; default 5", 20, .parse = set_limit},
	{"json", 'j', NULL, "print one JSON object that includes each run", 20, .given = &asked.json},
	{0},
};
/* clang-format on */

/*
 * Keep closed standard descriptors unusable, but occupied: no file that is opened later gets their
 * number.
 */
static void keep_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

static int run_noted(struct comparison *c, bool traced, const char *which, struct run *run)
{
	int err;

	notes_run_begins(&c->notes);
	err = run_once(c->plan, traced, which, run);
	if (err)
		return err;
	notes_run_ended(&c->notes);
	c->notes.migrations[traced] += run->migrations;
	plumb_info("%s: wall %.6f s, cpu %.6f s", which, run->values[WALL] / 1e9,
		   run->values[CPU] / 1e9);
	return 0;
}

static int run_pair(struct comparison *c, struct pair *pair, size_t number)
{
	char without[48], with[48];
	int err;

	snprintf(without, sizeof(without), "pair %zu, without the tool", number);
	snprintf(with, sizeof(with), "pair %zu, with the tool", number);
	if (pair->with_first) {
		err = run_noted(c, true, with, &pair->with);
		return err ?: run_noted(c, false, without, &pair->without);
	}
	err = run_noted(c, false, without, &pair->without);
	return err ?: run_noted(c, true, with, &pair->with);
}

static int run_all(struct comparison *c)
{
	unsigned short order[3] = {c->seed, c->seed >> 16, 0x330e};
	struct run thrown_away;
	int err = run_once(c->plan, false, "warm-up run", &thrown_away);

	if (!err)
		err = run_once(c->plan, true, "warm-up run with the tool", &thrown_away);

	clock_gettime(CLOCK_REALTIME, &c->start);
	notes_begin(&c->notes, "");
	for (size_t i = 0; !err && i < c->n; i++) {
		plumb_progress("pair", i + 1, c->n);
		c->pairs[i].with_first = jrand48(order) < 0;
		err = run_pair(c, &c->pairs[i], i + 1);
	}
	plumb_progress_end();
	clock_gettime(CLOCK_REALTIME, &c->end);
	return err;
}

/* Return the exit status. */
static int compare(struct options *o)
{
	struct comparison c = {
		.plan = &o->plan,
		.pairs = calloc(o->pairs, sizeof(struct pair)),
		.n = o->pairs,
		.limit = o->limit,
		.seed = o->seed,
		.measures = o->plan.metric ? MEASURES : METRIC,
	};
	enum verdict verdict = UNBIASED;
	int err = c.pairs ? 0 : plumb_error(ENOMEM, "no memory for the pairs");

	/*
	 * Nothing can be given up while commands are run, not even what execve() gives back: a
	 * program that gains capabilities is not dumpable, and forgets PR_SET_PDEATHSIG.
	 */
	err = err ?: run_all(&c) ?: plumb_confine();

	if (err == -EINTR)
		plumb_warn("interrupted: the workload and the tool are ended, nothing is compared");
	if (!err) {
		verdict = report_judge(&c);
		if (o->json)
			report_print_json(&c);
		else
			report_print_table(&c);
	}
	free(c.pairs);
	if (err)
		return err == -EPIPE ? 0 : PLUMB_EXIT_FAILED;
	return verdict == BIASED ? PLUMB_EXIT_JUDGED : verdict == UNDECIDED ? EXIT_UNDECIDED : 0;
}

int main(int argc, char **argv)
{
	const struct plumb_cli cli = {
		.name = "trace-bias",
		.summary = "Measure whether a tracing tool changes a workload: runs with and "
			   "without it, interleaved.",
		.about = "hooks:     none; the tool under test attaches its own\n"
			 "kernels:   any\n"
			 "fire rate: none\n"
			 "cost:      two runs of the workload per pair, 22 by default; during a "
			 "run\n"
			 "           it only reads the output of workload and tool\n",
		.usage = "--tool=LINE -- WORKLOAD [ARG...]",
		.options = own,
		.argument = take_argument,
		.complete = complete,
		.command = &asked.plan.workload,
	};
	int status;

	if (getrandom(&asked.seed, sizeof(uint32_t), 0) < 0)
		asked.seed = getpid();
	plumb_cli_parse(&cli, argc, argv);
	if (!asked.plan.workload)
		plumb_usage_error("no workload: it goes after --");
	keep_stdio();
	asked.plan.signals = plumb_signals_open(0);
	if (asked.plan.signals < 0) {
		plumb_warn("cannot watch for signals: %s", strerror(errno));
		return PLUMB_EXIT_FAILED;
	}
	status = compare(&asked);
	/* A verdict that could not be written is a failure. */
	return status == PLUMB_EXIT_FAILED ? status : plumb_close_stdout(0) ?: status;
}
