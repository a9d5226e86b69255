/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "access.h"
#include "globs.h"
#include "print.h"

#include <signal.h>
#include <stdlib.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>
#include <plumb/functions/hooks.h>
#include <plumb/guard/confine.h>

static struct {
	struct glob *globs;
	size_t n;
	bool arguments, summary, json;
} asked;

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Output:", .group = 10},
	{"arguments", 'a', NULL, "also print the arguments of each target, with their types", 10, .given = &asked.arguments},
	{"summary", 0, NULL, "count the targets of each kind, and list hooks that are refused", 10, .given = &asked.summary},
	{"json", 'j', NULL, "print one JSON object with all of that", 10, .given = &asked.json},
	{0},
};
/* clang-format on */

static void take_glob(const char *text)
{
	glob_read(&asked.globs[asked.n++], text);
}

static const struct plumb_cli cli = {
	.name = "probe-list",
	.summary = "List what can be probed on this host, by kind and stability.",
	.about = "hooks:     each is tried for a moment, on a target that rarely fires\n"
		 "stability: stable: system calls; stable-ish: tracepoints, USDT;\n"
		 "           unstable: functions\n"
		 "kernels:   5.10, 6.1, 6.12, 7.2 emulated, 6.18 locked down; x86_64\n"
		 "cost:      nothing stays attached\n",
	.usage = "[GLOB...]",
	.options = options,
	.argument = take_glob,
};

static unsigned int wanted_kinds(void)
{
	const unsigned int of_files = 1 << USER_FUNCTION | 1 << USDT;
	unsigned int wanted = 0;

	for (size_t i = 0; i < asked.n; i++)
		wanted |= asked.globs[i].kinds;
	if (!asked.n)
		wanted = ALL_OF_KERNEL | (asked.summary ? of_files : 0);
	return wanted;
}

/* Warn of what cannot be read, and go on with the rest. */
static void read_kernel(struct targets *p, unsigned int wanted)
{
	const unsigned int events = wanted & (1 << SYSCALL | 1 << TRACEPOINT);

	if (events && targets_read_events(p, events))
		p->unknown |= events;
	if (wanted & 1 << RAW_TRACEPOINT && targets_read_raw_tracepoints(p))
		p->unknown |= 1 << RAW_TRACEPOINT;
	if (wanted & 1 << FUNCTION && targets_read_functions(p))
		p->unknown |= 1 << FUNCTION;
	for (size_t i = 0; i < p->n; i++)
		p->list[i].taken = !asked.n;
}

/* Take the targets of one GLOB; false after a message if there are none. */
static bool take(struct targets *p, const struct glob *g)
{
	if (g->kinds == 1 << USER_FUNCTION)
		return !targets_read_user(p, g->text);
	if (g->kinds == 1 << USDT)
		return !targets_read_usdt(p, g->text);
	if (glob_take(g, p))
		return true;
	if (g->kinds & ~p->unknown)
		glob_complain(g, p);
	return false;
}

static void print(struct targets *p, unsigned int wanted)
{
	if (asked.json)
		print_json(p, wanted, asked.summary);
	else if (asked.summary)
		print_summary(p, wanted);
	else
		print_lines(p, asked.arguments);
}

int main(int argc, char **argv)
{
	struct targets p = {.tracefs = -1};
	unsigned int wanted;
	size_t failed = 0;
	int status;

	signal(SIGPIPE, SIG_IGN); /* a closed pipe is seen as EPIPE */
	asked.globs = calloc(argc, sizeof(*asked.globs));
	if (!asked.globs)
		return PLUMB_EXIT_FAILED;
	plumb_cli_parse(&cli, argc, argv);
	wanted = wanted_kinds();
	read_kernel(&p, wanted);
	for (size_t i = 0; i < asked.n; i++)
		failed += !take(&p, &asked.globs[i]);
	if (failed < asked.n || (!asked.n && p.n)) {
		targets_sort(&p);
		access_try(wanted, p.tracefs);
		if (plumb_confine())
			exit(PLUMB_EXIT_FAILED);
		if (!asked.json && !asked.summary)
			access_say_closed();
		print(&p, wanted);
	} else {
		failed = 1;
	}
	status = plumb_close_stdout(failed ? PLUMB_EXIT_FAILED : 0);
	targets_free(&p);
	free(asked.globs);
	return status;
}
