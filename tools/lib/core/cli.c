/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/memory.h>
#include <plumb/core/options.h>
#include <plumb/core/parse.h>
#include <plumb/core/part.h>
#include <plumb/core/text.h>

#define SEC_NS  1000000000ULL
#define YEAR_NS (366ULL * 24 * 3600 * SEC_NS)

/* The command line that is being parsed. */
static struct {
	const struct plumb_cli *cli;
	struct argp argp;
	const struct plumb_option **all; /* of the tool, of all tools, of the parts */
	size_t n;
} parsing;

static void print_about(void)
{
	printf("%s %s\n", parsing.cli->name, PLUMB_VERSION);
	plumb_print_wrapped(parsing.cli->summary, stdout);
	printf("\n%s", parsing.cli->about);
	exit(plumb_close_stdout(0));
}

static void print_version(void)
{
	printf("%s (plumb) %s\n", parsing.cli->name, PLUMB_VERSION);
	exit(plumb_close_stdout(0));
}

static void print_help(void)
{
	/* argp loops if this variable sets margins that leave no space for a word. */
	unsetenv("ARGP_HELP_FMT");
	argp_help(&parsing.argp, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK,
		  program_invocation_short_name);
	exit(plumb_close_stdout(0));
}

static void be_verbose(void)
{
	plumb_verbosity++;
}

/* clang-format off */
static const struct plumb_option common[] = {
	{.doc = "About:", .group = -1},
	{"about", 0, NULL, "print the tool's hooks, tested kernels, fire rate and cost", -1, .act = print_about},
	{"verbose", 'v', NULL, "explain decisions; twice: also libbpf's messages", -1, .act = be_verbose},
	{"version", 'V', NULL, "print the version", -1, .act = print_version},
	{"help", 'h', NULL, "print this help", -1, .act = print_help},
	{0},
};
/* clang-format on */

bool plumb_option_is_among(const struct plumb_option *options, const char *name)
{
	for (const struct plumb_option *o = options; o && (o->name || o->doc); o++)
		if (o->name && !strcmp(o->name, name))
			return true;
	return false;
}

/* An option while its value is taken. */
struct taking {
	const struct plumb_option *option;
	const char *name;
};

static int take_item(const char *item, void *context)
{
	const struct taking *t = context;

	t->option->item(t->name, item, parsing.cli->shared);
	return 0;
}

static uint64_t bytes_of(const struct plumb_option *o, const char *name, const char *text)
{
	uint64_t bytes;

	if (plumb_parse_size(text, 0, UINT64_MAX, &bytes))
		plumb_usage_error("%s: bytes, as 512 or 64K: %s", name, text);
	if (o->max && (bytes < o->min || bytes > o->max))
		plumb_usage_error("%s: from %llu to %llu bytes: %s", name, o->min, o->max, text);
	return bytes;
}

static void take(const struct plumb_option *o, const char *text)
{
	char name[64];
	struct taking t = {o, name};

	if (o->instead)
		plumb_usage_error("-%c: no such option; %s", o->letter, o->instead);
	snprintf(name, sizeof(name), "--%s", o->name);
	if (o->once && *o->text)
		plumb_usage_error("%s: given twice; it takes one %s", name, o->value);
	if (o->given)
		*o->given = true;
	if (o->shared)
		*(bool *)((char *)parsing.cli->shared + o->shared) = true;
	if (o->number && text)
		*o->number = plumb_option_number(name, text, o->min, o->max);
	if (o->size)
		*o->size = bytes_of(o, name, text);
	if (o->time)
		*o->time = plumb_option_duration(name, text);
	if (o->seconds)
		*o->seconds = plumb_option_seconds(name, text);
	if (o->text)
		*o->text = text;
	if (o->item && plumb_parse_list(text, take_item, &t))
		plumb_usage_error("%s: an empty item in '%s'", name, text);
	if (o->parse)
		o->parse(name, text, parsing.cli->shared);
	if (o->act)
		o->act();
}

/*
 * getopt takes an abbreviation of O.  It may be another option of a similar tool, as --min of
 * --min-count, and become ambiguous by an option that is new.
 */
static void refuse_abbreviation(const struct plumb_option *o, const char *text,
				const struct argp_state *state)
{
	const char *last = state->argv[state->next - 1];
	const char *word = text == last ? state->argv[state->next - 2] : last;
	const size_t n = strcspn(word, "=");

	if (o->name && n > 2 && !strncmp(word, "--", 2) && n - 2 < strlen(o->name) &&
	    !strncmp(word + 2, o->name, n - 2))
		plumb_usage_error("%.*s: options are not abbreviated: --%s", (int)n, word, o->name);
}

/* Keys of options without a letter, by their place in the table. */
#define NO_LETTER 0x1000

static error_t parse(int key, char *text, struct argp_state *state)
{
	const struct plumb_cli *cli = parsing.cli;

	switch (key) {
	case ARGP_KEY_INIT:
		/* getopt prints the error.  argp would add two lines, with an option that the
		 * tools do not have. */
		state->err_stream = NULL;
		return 0;
	case ARGP_KEY_ARG:
		if (!cli->argument)
			plumb_usage_error("no argument is taken: %s", text);
		cli->argument(text);
		return 0;
	case ARGP_KEY_END:
		if (cli->complete)
			cli->complete(cli->shared);
		return 0;
	}
	for (size_t i = 0; i < parsing.n; i++) {
		if (key != (parsing.all[i]->letter ?: (int)(NO_LETTER + i)))
			continue;
		refuse_abbreviation(parsing.all[i], text, state);
		take(parsing.all[i], text);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
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

/* The options of a part that this program has; NULL: none. */
static const struct plumb_option *options_of(const struct plumb_part *part)
{
	const struct plumb_tool *tool = parsing.cli->tool;

	return (part->has ? part->has(tool) : tool != NULL) ? part->options : NULL;
}

static void append(const struct plumb_option *options)
{
	for (const struct plumb_option *o = options; o && (o->name || o->doc || o->letter); o++)
		*plumb_append(parsing.all, parsing.n) = o;
}

/* The table of all options as argp takes it. */
static struct argp_option *for_argp(void)
{
	struct argp_option *table = plumb_zeroed(parsing.n + 1, sizeof(*table));

	for (size_t i = 0; i < parsing.n; i++) {
		const struct plumb_option *o = parsing.all[i];
		const int flags =
			(o->optional ? OPTION_ARG_OPTIONAL : 0) | (o->instead ? OPTION_HIDDEN : 0);

		table[i] = (struct argp_option){o->name, 0, o->value, flags, o->doc, o->group};
		if (o->name || o->letter)
			table[i].key = o->letter ?: (int)(NO_LETTER + i);
	}
	return table;
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
}

/*
 * getopt's messages have options as they are, which a terminal could take for commands; and an
 * option without a name abbreviates all.
 */
static void refuse_unreadable(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const bool is_long = !strncmp(argv[i], "--", 2);

		if (!strncmp(argv[i], "--=", 3))
			plumb_usage_error("no name of an option before the =: %s", argv[i]);
		if (*argv[i] != '-')
			continue;
		for (const char *at = argv[i]; *at && *at != '=' && (is_long || at < argv[i] + 2);
		     at++)
			if (iscntrl((unsigned char)*at) || *at & 0x80)
				plumb_usage_error("unrecognized option: %s", argv[i]);
	}
}

static bool checks_only;

void plumb_cli_check_only(void)
{
	checks_only = true;
}

void plumb_cli_parse(const struct plumb_cli *cli, int argc, char **argv)
{
	free(parsing.all);
	parsing.all = NULL;
	parsing.n = 0;
	parsing.cli = cli;
	keep_streams();
	/* With a handler, a write beyond ulimit -f fails with EFBIG.  execve() restores the default
	 * for commands. */
	signal(SIGXFSZ, ignore);
	/* A reader that closes the output, also that of --help, is no failure: EPIPE says so. */
	signal(SIGPIPE, ignore);
	/* Without --keep, who asks for a dump would lose the report. */
	signal(SIGUSR1, ignore);
	plumb_log_init();
	argv[0] = program_invocation_short_name; /* the name in getopt's messages */
	if (cli->command)
		argc = split_command(cli->command, argc, argv);
	refuse_unreadable(argc, argv);
	append(cli->options);
	append(cli->of_library);
	append(cli->more);
	for (size_t i = 0; plumb_parts[i]; i++)
		append(options_of(plumb_parts[i]));
	append(common);
	argp_err_exit_status = PLUMB_EXIT_USAGE;
	parsing.argp = (struct argp){for_argp(), parse, cli->usage, cli->summary, NULL, NULL, NULL};
	if (argp_parse(&parsing.argp, argc, argv, ARGP_NO_HELP, NULL, NULL))
		exit(PLUMB_EXIT_USAGE);
	if (!checks_only)
		plumb_parts_start(cli->name);
	if (!cli->shared || !cli->shared->instead)
		return;
	cli->shared->instead(stdout);
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

/* The signals that end a tool, but for SIGHUP under nohup(1): blocked, it would arrive all the
 * same. */
sigset_t plumb_signals_of_end(void)
{
	struct sigaction hup;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	if (sigaction(SIGHUP, NULL, &hup) || hup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	return set;
}

int plumb_signals_open(int more)
{
	sigset_t set = plumb_signals_of_end();

	sigaddset(&set, SIGCHLD);
	if (more)
		sigaddset(&set, more);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
