// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* options: what a command line asks for, and which ones are wrong usage. */
#include "apart.h"
#include <plumb/core/cli.h>
#include <plumb/core/log.h>
#include <plumb/core/percentile.h>
#include <plumb/core/tool.h>

/* --- a tool, and what it is asked for --- */

static __u64 number, size, duration;
static const char *text;

static const struct plumb_option own[] = {
	{"number", 'x', "N", "from 3 to 5", 30, .number = &number, .min = 3, .max = 5},
	{"size", 0, "BYTES", "of something", 30, .size = &size},
	{"time", 0, "TIME", "of something", 30, .time = &duration},
	{"text", 0, "TEXT", "anything", 30, .text = &text},
	{0},
};

static const char *never(const struct plumb_options *o)
{
	return o->split ? "cannot split" : NULL;
}

static const struct plumb_mechanism mechanisms[] = {
	{.name = "first"},
	{.name = "second", .unsupported = never},
};

static bool takes_words(const char *word, bool is_number)
{
	return !is_number && *word == 'w';
}

static struct plumb_tool tool = {
	.card.name = "unit",
	.card.summary = "A tool.",
	.card.about = "hooks: none\n",
	.options.list = own,
	.keys.default_by = PLUMB_BY_TID,
	.mechanisms.list = mechanisms,
	.mechanisms.n = LENGTH(mechanisms),
};

static void show_list(const char *name, const uint32_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "%s%u", i ? "," : name, list[i]);
}

static void show_u64(const char *name, uint64_t value, uint64_t usual)
{
	if (value != usual)
		fprintf(stderr, " %s=%" PRIu64, name, value);
}

static void show_text(const char *name, const char *value)
{
	if (value)
		fprintf(stderr, " %s=%s", name, value);
}

/* What is not as usual. */
static void show(const struct plumb_options *o)
{
	show_u64("interval", o->interval, 0);
	show_u64("count", o->count, 0);
	show_u64("duration", o->duration, 0);
	show_list(" pids=", o->pids, o->n_pids);
	show_list(" tids=", o->tids, o->n_tids);
	show_u64("follow", o->follow, 0);
	for (uint32_t i = 0; i < o->n_comms; i++)
		show_text("comm", o->comms[i]);
	for (uint32_t i = 0; i < o->n_comms_typed; i++)
		show_text("typed", o->comms_typed[i]);
	for (uint32_t i = 0; i < o->n_cgroups; i++)
		show_text("cgroup", o->cgroups[i]);
	for (char **word = o->command; word && *word; word++)
		show_text("word", *word);
	show_u64("by", o->by, PLUMB_BY_TID);
	show_u64("min_count", o->min_count, 0);
	for (size_t i = 0; i < o->n_percentiles; i++)
		fprintf(stderr, "%s%s=%" PRIu64, i ? "," : " ", o->percentiles[i].name,
			o->percentiles[i].p);
	show_u64("unit", o->unit, 0);
	show_u64("histogram", o->histogram, 0);
	show_u64("json", o->json, 0);
	show_u64("top", o->top, 0);
	show_text("sort", o->sort);
	show_u64("max_keys", o->max_keys, 256);
	show_u64("precision", o->precision, 6);
	show_text("mechanism", o->mechanism);
	show_text("btf", o->btf);
	show_u64("calibrate", o->calibrate, 1);
	show_u64("check_only", o->check_only, 0);
	if (o->strict)
		fprintf(stderr, " strict=%" PRIu64, o->strict_percent);
	show_u64("number", number, 0);
	show_u64("size", size, 0);
	show_u64("time", duration, 0);
	show_text("text", text);
}

static const char *line; /* words with blanks in between; '' is an empty one */

static int parse(void)
{
	static struct plumb_options o;
	char *words[256] = {"unit"}, *rest = strdup(line), *word;
	int n = 1;

	while ((word = strsep(&rest, " ")) && n < 255)
		if (*word)
			words[n++] = strcmp(word, "''") ? word : "";
	dup2(STDERR_FILENO, STDOUT_FILENO);
	plumb_options_parse(&o, n, words, &tool);
	show(&o);
	return 0;
}

static int status_of(const char *arguments)
{
	line = arguments;
	return apart(parse);
}

#define USUAL " 50=50000000,90=90000000,99=99000000,99.9=99900000"

/* --- what is taken --- */

static const struct {
	const char *line, *shown;
} taken[] = {
	{"", USUAL},
	{"1", " interval=1000000000" USUAL},
	{".5 4294967295", " interval=500000000 count=4294967295" USUAL},
	{"2 -d 3 5", " interval=2000000000 count=5 duration=3000000000" USUAL},
	{"-d 0.000000001", " duration=1" USUAL},
	{"--duration 31622400", " duration=31622400000000000" USUAL},
	/* Of two values the last counts; lists grow. */
	{"-d 1 -d 2", " duration=2000000000" USUAL},
	{"-p 1,2147483647 -p 3 -t 7", " pids=1,2147483647,3 tids=7" USUAL},
	{"-p 1 --follow", " pids=1 follow=1" USUAL},
	{"-c a,*b -c abcdefghijklmno", " comm=a comm=abcdefghijklmno typed=a typed=*b "
				       "typed=abcdefghijklmno" USUAL},
	{"-g /a -g b,/c", " cgroup=/a cgroup=b cgroup=/c" USUAL},
	{"-b pid,comm -b tid", " by=7" USUAL},
	{"-b cgroup_id", " by=64" USUAL},
	{"-q 100,0.000001", " 100=100000000,0.000001=1"},
	{"-q 50 -q 99.9 -q 50.0", " 50=50000000,99.9=99900000"},
	{"-m 18446744073709551615", " min_count=18446744073709551615" USUAL},
	{"-u ns", USUAL " unit=1"},
	{"-H -j -n 4294967295", USUAL " histogram=1 json=1 top=4294967295"},
	{"--sort=p99", USUAL " sort=p99"},
	{"--max-keys=1 --precision=1", USUAL " max_keys=1 precision=1"},
	{"--max-keys=1048576 --precision=10", USUAL " max_keys=1048576 precision=10"},
	{"--mechanism=second --btf=/none", USUAL " mechanism=second btf=/none"},
	{"--no-calibrate --check-arguments", USUAL " calibrate=0 check_only=1"},
	{"--strict", USUAL " strict=0"},
	{"--strict=100", USUAL " strict=100000000"},
	{"--strict 7", " interval=7000000000" USUAL " strict=0"},
	{"-x 3 --size=64K --time=1.5ms --text=''", USUAL " number=3 size=65536 time=1500000 "
							 "text=''"},
	/* A command's words are its own. */
	{"1 -- a -p 1 -- --help", " interval=1000000000 word=a word=-p word=1 word=-- "
				  "word=--help" USUAL},
};

static void what_is_asked_for(void **state)
{
	for (size_t i = 0; i < LENGTH(taken); i++) {
		check(!status_of(taken[i].line), "%s: %s", taken[i].line, complaint);
		check(!strcmp(complaint, taken[i].shown), "%s: %s", taken[i].line, complaint);
	}
}

/* As many as the programs have room for, and one more. */
static void lists_are_bounded(void **state)
{
	static const struct {
		const char *option, *item, *said;
		int most;
	} lists[] = {
		{"-p ", "7", "options: --pid: at most 64\n", 64},
		{"-t ", "7", "options: --tid: at most 64\n", 64},
		{"-c ", "x", "options: --comm: at most 64\n", 64},
		{"-g ", "/", "options: --cgroup: at most 64\n", 64},
	};
	char many[512];

	for (size_t i = 0; i < LENGTH(lists); i++) {
		strcpy(many, lists[i].option);
		for (int n = 0; n < lists[i].most; n++)
			strcat(strcat(many, n ? "," : ""), lists[i].item);
		check(!status_of(many), "%s: %s", many, complaint);
		strcat(strcat(many, ","), lists[i].item);
		assert_int_equal(status_of(many), 2);
		assert_string_equal(complaint, lists[i].said);
	}
	assert_int_equal(status_of("-q 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,1,15.0,16"), 0);
	assert_int_equal(status_of("-q 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"), 2);
	assert_string_equal(complaint, "options: --percentiles: at most 16\n");
}

/* --- what is refused --- */

static const struct {
	const char *line, *said;
} refused[] = {
	{"-d 0", "--duration: "},
	{"-d 31622400.000000001", "--duration: "},
	{"-d ''", "--duration: "},
	{"0", "INTERVAL: "},
	{"1 0", "COUNT: "},
	{"1 4294967296", "COUNT: "},
	{"1 2 3", "unexpected argument: 3 (a command goes after --)"},
	{"-p 0", "--pid: not an id: 0"},
	{"-p 2147483648", "--pid: not an id: 2147483648"},
	{"-p 1,,2", "--pid: an empty item in '1,,2'"},
	{"-t ''", "--tid: an empty item in ''"},
	{"-c abcdefghijklmnop", "--comm: the kernel keeps 15 characters of a name"},
	{"-c a,", "--comm: an empty item in 'a,'"},
	{"-b pid,hostname", "--by: no such key: hostname; -b help lists them"},
	{"-q 0", "--percentiles: "},
	{"-q 100.000001", "--percentiles: "},
	{"-q 0000000000000099", "--percentiles: "},
	{"-m 18446744073709551616", "--min-count: "},
	{"-n -1", "--top: "},
	{"-n 4294967296", "--top: "},
	{"-u min", "--unit: auto, ns, us, ms or s, as in -u us: min"},
	{"--max-keys=1048577", "--max-keys: "},
	{"--precision=11", "--precision: "},
	{"--strict=100.1", "--strict: a percentage from 0 to 100: 100.1"},
	{"--strict=", "--strict: a percentage from 0 to 100: "},
	{"--sort=none", "--sort: no such column: none; known:"},
	{"--mechanism=third", "--mechanism: no such mechanism: third; known: first second\n"},
	{"-x 2", "--number: "},
	{"-x 6", "--number: "},
	{"--time=1", "--time: "},
	/* One contradicts another. */
	{"--follow", "--follow needs -p"},
	{"-p 1 -- true", "-p and -t cannot be combined with a command after --"},
	{"-d 1 --", "no command after --"},
	/* What users of other tools try. */
	{"-T", "-T: no such option; each report has its time"},
	{"-P", "-P: no such option; a row for each process: -b pid\n"},
	{"--dur 1", "--dur: options are not abbreviated: --duration\n"},
	/* getopt's own. */
	{"--none", "'--none'"},
	{"-z", "'z'"},
	{"-d", "requires an argument"},
	{"--json=1", "doesn't allow an argument"},
	{"--p 1", "ambiguous"},
	{"--\x1b[2J", "unrecognized option: --\\x1b[2J\n"},
	{"-\xc3\xa9", "unrecognized option: -"},
};

static void wrong_usage(void **state)
{
	for (size_t i = 0; i < LENGTH(refused); i++) {
		check(status_of(refused[i].line) == 2, "%s: %s", refused[i].line, complaint);
		check(strstr(complaint, refused[i].said), "%s: %s", refused[i].line, complaint);
		/* One line, which names the program. */
		check(!strncmp(complaint, "options: ", 9) &&
			      strchr(complaint, '\n') == complaint + strlen(complaint) - 1,
		      "%s: %s", refused[i].line, complaint);
	}
}

/* Of the tool, which may have words of its own, and lack options. */
static void tools_differ(void **state)
{
	tool.options.argument = takes_words;
	assert_int_equal(status_of("w1 1 w2"), 0);
	assert_string_equal(complaint, " interval=1000000000" USUAL);
	assert_int_equal(status_of("w1 x"), 2);
	tool.options.argument = NULL;

	tool.options.lacks = PLUMB_NO_TABLE_OPTIONS;
	assert_int_equal(status_of("-n 1"), 2);
	assert_int_equal(status_of("-P"), 2);
	assert_string_equal(complaint, "options: -P: no such option; -p and -t select processes "
				       "and threads\n");
	assert_int_equal(status_of("-q 1 --max-keys=2"), 0);
	tool.options.lacks = PLUMB_NO_COLUMN_OPTIONS | PLUMB_NO_ROW_OPTIONS;
	assert_int_equal(status_of("-q 1"), 2);
	assert_int_equal(status_of("--max-keys=2"), 2);
	tool.options.lacks = 0;

	tool.keys.max = 4096;
	assert_int_equal(status_of(""), 0);
	assert_string_equal(complaint, USUAL " max_keys=4096");
	tool.keys.max = 0;
}

/* --- what is printed --- */

static void lists(void **state)
{
	assert_int_equal(status_of("-b help --none"), 0);
	check(!strncmp(complaint, "pid tid comm ", 13), "%s", complaint);
	assert_int_equal(status_of("--mechanism=help"), 0);
	assert_string_equal(complaint, "first second\n");
	assert_int_equal(status_of("--version"), 0);
	assert_string_equal(complaint, "unit (plumb) " PLUMB_VERSION "\n");
	assert_int_equal(status_of("--about"), 0);
	assert_string_equal(complaint, "unit " PLUMB_VERSION "\nA tool.\n\nhooks: none\n");
}

static void help(void **state)
{
	static const char *const in_order[] = {
		"Usage: options [OPTION...] [INTERVAL [COUNT]]\n",
		"or:  options [OPTION...] [-- COMMAND [ARG...]]\n",
		"A tool.\n",
		"Duration:\n",
		"-d, --duration=SEC",
		"Filters (trace only these):\n",
		"-p, --pid=PID[,...]",
		"-x, --number=N",
		"Output:\n",
		"-u, --unit=auto|ns|us|ms|s",
		"Measurement:\n",
		"--strict[=PCT]",
		"About:\n",
		"-h, --help",
		"-V, --version",
	};
	static char usual[1 << 14];
	const char *at;

	assert_int_equal(status_of("--help"), 0);
	at = strcpy(usual, complaint);
	for (size_t i = 0; i < LENGTH(in_order); i++) {
		check((at = strstr(at, in_order[i])), "%s", in_order[i]);
		at += strlen(in_order[i]);
	}
	assert_null(strstr(usual, "-T"));
	assert_non_null(strstr(usual, "default 256"));
	/* Where margins leave no space for a word argp does not end. */
	setenv("ARGP_HELP_FMT", "rmargin=1,opt-doc-col=79", 1);
	assert_int_equal(status_of("-h"), 0);
	assert_string_equal(complaint, usual);
	unsetenv("ARGP_HELP_FMT");
}

static int prints_to_full(void)
{
	char *words[] = {"unit", "--help", NULL};
	struct plumb_options o;

	if (!freopen("/dev/full", "w", stdout))
		return 77;
	plumb_options_parse(&o, 2, words, &tool);
	return 0;
}

static void a_full_disk_is_a_failure(void **state)
{
	int status = apart(prints_to_full);

	assert_int_equal(status, PLUMB_EXIT_FAILED);
	assert_non_null(strstr(complaint, "No space left on device"));
}

/* Where the user wants options to precede words, one that follows is no option that is left out. */
static void options_precede_words(void **state)
{
	setenv("POSIXLY_CORRECT", "1", 1);
	assert_int_equal(status_of("-d 2 1"), 0);
	assert_string_equal(complaint, " interval=1000000000 duration=2000000000" USUAL);
	assert_int_equal(status_of("1 -d 2"), 2);
	unsetenv("POSIXLY_CORRECT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(wrong_usage),
		cmocka_unit_test(tools_differ),
		cmocka_unit_test(lists),
		cmocka_unit_test(help),
		cmocka_unit_test(a_full_disk_is_a_failure),
		cmocka_unit_test(options_precede_words),
	};

	return run_all(tests);
}
