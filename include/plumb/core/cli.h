/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cli: a tool's command line: its own options and those of every tool (--about, --verbose,
 * --version, --help), exit statuses and signals.
 *
 * Wrong usage exits with status 2; --help, --about and --version exit with 0.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <plumb/core/option.h>

/* Exit statuses, beside 0. */
enum {
	PLUMB_EXIT_FAILED = 1,       /* could not run, or could not write its output */
	PLUMB_EXIT_USAGE = 2,        /* wrong usage */
	PLUMB_EXIT_JUDGED = 3,       /* it ran, and a check that was asked for failed */
	PLUMB_EXIT_UNSUPPORTED = 77, /* this kernel lacks what the tool needs */
};

struct plumb_options;
struct plumb_tool;

struct plumb_cli {
	const char *name;
	const char *summary; /* one line: what the tool does */
	const char *about;   /* --about: lines below it */
	const char *usage;   /* the arguments, "[GLOB...]"; one line per form */
	const struct plumb_option *options;
	const struct plumb_option *of_library, *more;    /* other tables; NULL: none */
	void (*argument)(const char *text);              /* takes a word; NULL: none is taken */
	void (*complete)(struct plumb_options *options); /* after the last of them; or NULL */
	const struct plumb_tool
		*tool; /* that traces by the core's loop, and its options; or NULL */
	struct plumb_options *shared;
	char ***command; /* set to the words after "--", ended by NULL; NULL: no "--" */
};

/* Parses the command line; ARGV may be reordered, the options first. */
void plumb_cli_parse(const struct plumb_cli *cli, int argc, char **argv);

/* In a function of an option: the command line is only checked, so there is no audit record and no
 * policy. */
void plumb_cli_check_only(void);

/* Returns whether this process may trace; if not, after a message. */
bool plumb_may_trace(void);

/*
 * Parse the value of an option.  Wrong values are wrong usage; OPTION is the name for the
 * message.
 */
uint64_t plumb_option_number(const char *option, const char *text, uint64_t min, uint64_t max);
uint64_t plumb_option_seconds(const char *option, const char *text);  /* in ns, 0 < s <= 1 year */
uint64_t plumb_option_duration(const char *option, const char *text); /* "1.5ms", in ns */

/*
 * Returns a signalfd of the signals that end a run (INT, TERM, HUP), of CHLD and of MORE (0: none),
 * which are blocked from then on.  PIPE is ignored: a closed output is seen as EPIPE or POLLERR.
 */
int plumb_signals_open(int more);

/*
 * The signals that end a run, but for one of HUP that was ignored, as nohup(1) asks for: blocked,
 * it would arrive all the same.
 */
sigset_t plumb_signals_of_end(void);
