/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cli: a tool's command line: its own options, and what every tool has, --about,
 * --verbose, --version, --help; and how it begins.
 *
 * What is wrong usage ends the process with status 2, --help and its like with 0.
 */
#ifndef PLUMB_CLI_H
#define PLUMB_CLI_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit statuses, beside 0. */
enum {
	PLUMB_EXIT_FAILED = 1,       /* could not run, or could not write its output */
	PLUMB_EXIT_USAGE = 2,        /* wrong usage */
	PLUMB_EXIT_JUDGED = 3,       /* it ran, and what it had to judge is not good */
	PLUMB_EXIT_UNSUPPORTED = 77, /* this kernel cannot do it */
};

struct plumb_cli {
	const char *name;
	const char *summary; /* one line: what the tool answers */
	const char *about;   /* --about: lines below it */
	const char *usage;   /* what may follow the options, "[GLOB...]"; a line a form */
	const struct argp_option *options; /* ended by {0} */
	const struct argp_option *more;    /* another table of them; NULL: none */
	/*
	 * An option, an argument (ARGP_KEY_ARG) or the end (ARGP_KEY_END), with
	 * CONTEXT as it was given: 0, or ARGP_ERR_UNKNOWN.
	 */
	int (*parse)(int key, char *text, struct argp_state *state, void *context);
	char ***command; /* gets what follows "--", ended by NULL; NULL: nothing may */
};

/* Parses the command line, which argp may sort: first the options, then the arguments. */
void plumb_cli_parse(const struct plumb_cli *cli, int argc, char **argv, void *context);

/* May this process trace?  If not, it is said. */
bool plumb_may_trace(void);

/*
 * Readers of an option's value, which say what is wrong with it; OPTION is its name for
 * the message.
 */
uint64_t plumb_option_number(const char *option, const char *text, uint64_t min, uint64_t max);
uint64_t plumb_option_seconds(const char *option, const char *text);  /* in ns, 0 < s <= 1 year */
uint64_t plumb_option_duration(const char *option, const char *text); /* "1.5ms", in ns */
uint64_t plumb_option_size(const char *option, const char *text);     /* "64K", in bytes */

/*
 * A signalfd of what ends a run (INT, TERM, HUP) and of children that end; these signals
 * are blocked then.  A reader that goes away is seen as EPIPE or POLLERR: PIPE is ignored.
 */
int plumb_signals_open(void);
/* Has one come that ends a run, and was not read? */
bool plumb_signals_pending(void);

#endif
