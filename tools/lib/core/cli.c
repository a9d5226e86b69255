/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/parse.h>
#include <plumb/core/part.h>
#include <plumb/core/text.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define SEC_NS  1000000000ULL
#define YEAR_NS (366ULL * 24 * 3600 * SEC_NS)

/* Above all keys of tools' own options; those of each part, 0x100 of them, are above these. */
enum { ABOUT = 0x8000, PARTS = 0x10000, EACH = 0x100 };

/* clang-format off */
static const struct argp_option common[] = {
	{NULL, 0, NULL, 0, "About:", -1},
	{"about", ABOUT, NULL, 0, "print the tool's hooks, tested kernels, fire rate and cost", -1},
	{"verbose", 'v', NULL, 0, "explain decisions; twice: also libbpf's messages", -1},
	{"version", 'V', NULL, 0, "print the version", -1},
	{"help", 'h', NULL, 0, "print this help", -1},
	{0},
};
/* clang-format on */

struct parsing {
	const struct plumb_cli *cli;
	void *context;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct parsing *p = state->input;
	const struct plumb_cli *cli = p->cli;

	switch (key) {
	case ABOUT:
		printf("%s %s\n", cli->name, PLUMB_VERSION);
		plumb_print_wrapped(cli->summary, stdout);
		printf("\n%s", cli->about);
		exit(plumb_close_stdout(0));
	case 'v':
		plumb_verbosity++;
		return 0;
	case 'V':
		printf("%s (plumb) %s\n", cli->name, PLUMB_VERSION);
		exit(plumb_close_stdout(0));
	case 'h':
		/* argp loops if this variable sets margins that leave no space for a word. */
		unsetenv("ARGP_HELP_FMT");
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
		exit(plumb_close_stdout(0));
	case ARGP_KEY_INIT:
		/* getopt prints the error.  argp would add two lines, with an option that the
		 * tools do not have. */
		state->err_stream = NULL;
		return 0;
	default:
		if (key < PARTS || key >= ARGP_KEY_END)
			return cli->parse(key, text, state, p->context);
		plumb_parts[(key - PARTS) / EACH]->parse((key - PARTS) % EACH, text, cli->shared);
		return 0;
	}
}

/*
 * Cuts the command off the arguments, since argp reorders them and would mix its words with the
 * tool's.  Returns the new argc.
 */
static int split_command(char ***command, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		if (i + 1 == argc)
			plumb_usage_error("no command after --");
		*command = argv + i + 1;
		argv[i] = NULL;
		return i;
	}
	return argc;
}

static size_t count(const struct argp_option *options)
{
	size_t n = 0;

	while (options && (options[n].name || options[n].doc))
		n++;
	return n;
}

/* The options of a part that this program has; NULL: none. */
static const struct argp_option *options_of(const struct plumb_part *part,
					    const struct plumb_cli *cli)
{
	return (part->has ? part->has(cli->tool) : cli->tool != NULL) ? part->options : NULL;
}

/* Appends OPTIONS, whose keys are counted from BASE on, to N of ALL; returns their number. */
static size_t append(struct argp_option *all, size_t n, const struct argp_option *options, int base)
{
	const size_t more = count(options);

	for (size_t i = 0; i < more; i++) {
		all[n + i] = options[i];
		all[n + i].key += options[i].key ? base : 0;
	}
	return n + more;
}

/* The tool's own options, the common ones and those of parts, in one table for argp. */
static struct argp_option *all_options(const struct plumb_cli *cli)
{
	size_t n = count(cli->options) + count(cli->more) + count(common);
	struct argp_option *all;

	for (size_t i = 0; plumb_parts[i]; i++)
		n += count(options_of(plumb_parts[i], cli));
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		exit(PLUMB_EXIT_FAILED);
	n = append(all, 0, cli->options, 0);
	n = append(all, n, cli->more, 0);
	for (size_t i = 0; plumb_parts[i]; i++)
		n = append(all, n, options_of(plumb_parts[i], cli), PARTS + i * EACH);
	append(all, n, common, 0);
	return all;
}

/*
 * If a standard stream is closed, the next opened file would get its descriptor, and our output.
 * /dev/null is opened instead, such that reading or writing the stream still fails.
 */
static void keep_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

static void ignore(int signal)
{
	(void)signal;
}

/* getopt's messages have options as they are, which a terminal could take for commands. */
static void refuse_controls(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const bool is_long = !strncmp(argv[i], "--", 2);

		if (*argv[i] != '-')
			continue;
		for (const char *at = argv[i]; *at && *at != '=' && (is_long || at < argv[i] + 2);
		     at++)
			if (iscntrl((unsigned char)*at) || *at & 0x80)
				plumb_usage_error("unrecognized option: %s", argv[i]);
	}
}

static void (*instead)(FILE *out);

void plumb_cli_instead(void (*act)(FILE *out))
{
	instead = act;
}

static bool checks_only;

void plumb_cli_check_only(void)
{
	checks_only = true;
}

void plumb_cli_parse(const struct plumb_cli *cli, int argc, char **argv, void *context)
{
	struct parsing p = {.cli = cli, .context = context};
	struct argp_option *table = all_options(cli);
	struct argp argp = {
		.options = table,
		.parser = parse,
		.args_doc = cli->usage,
		.doc = cli->summary,
	};

	keep_streams();
	/* With a handler, a write beyond ulimit -f fails with EFBIG.  execve() restores the default
	 * for commands. */
	signal(SIGXFSZ, ignore);
	/* Without --keep, who asks for a dump would lose the report. */
	signal(SIGUSR1, ignore);
	plumb_log_init();
	argv[0] = program_invocation_short_name; /* the name in getopt's messages */
	if (cli->command)
		argc = split_command(cli->command, argc, argv);
	refuse_controls(argc, argv);
	argp_err_exit_status = PLUMB_EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &p))
		exit(PLUMB_EXIT_USAGE);
	free(table);
	if (!checks_only)
		plumb_parts_start(cli->name);
	if (!instead)
		return;
	instead(stdout);
	exit(plumb_close_stdout(0));
}

uint64_t plumb_option_number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;

	if (plumb_parse_u64(text, min, max, &value))
		plumb_usage_error("%s: a number from %llu to %llu: %s", option,
				  (unsigned long long)min, (unsigned long long)max, text);
	return value;
}

uint64_t plumb_option_seconds(const char *option, const char *text)
{
	uint64_t ns;

	if (plumb_parse_seconds(text, 1, YEAR_NS, &ns))
		plumb_usage_error("%s: seconds, above 0, at most a year: %s", option, text);
	return ns;
}

uint64_t plumb_option_duration(const char *option, const char *text)
{
	uint64_t ns = 0;

	/* 0 is the same in each unit. */
	if (strcmp(text, "0") != 0 && plumb_parse_duration(text, 0, UINT64_MAX, &ns))
		plumb_usage_error("%s: a time with its unit, as 10us or 1.5ms: %s", option, text);
	return ns;
}

uint64_t plumb_option_size(const char *option, const char *text)
{
	uint64_t bytes;

	if (plumb_parse_size(text, 0, UINT64_MAX, &bytes))
		plumb_usage_error("%s: bytes, as 512 or 64K: %s", option, text);
	return bytes;
}

bool plumb_signals_pending(void)
{
	sigset_t set;

	return !sigpending(&set) && (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) ||
				     sigismember(&set, SIGHUP));
}

void plumb_signals_drop(void)
{
	const struct timespec now = {};
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	while (sigtimedwait(&ends, NULL, &now) > 0)
		;
}

int plumb_signals_open(int more)
{
	static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		sigaddset(&set, handled[i]);
	if (more)
		sigaddset(&set, more);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
