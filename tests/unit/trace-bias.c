// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trace-bias: verdicts on differences that are known, and what is read of tool, workload, machine.
 */
#include "unit.h"
#include "judge.h"
#include "lines.h"
#include "metric.h"
#include "notes.h"
#include "run.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAIRS 10
#define SEEDS 400

/* 1000, give or take NOISE percent, evenly; PERCENT more where it is traced. */
static double value(double percent, double noise, uint64_t *seed)
{
	double even = (double)(next_random(seed) >> 11) / (1ULL << 53); /* [0, 1) */

	return (1000 + percent * 10) * (1 + noise / 100 * (2 * even - 1));
}

static struct judgement judged(double percent, double noise, size_t n, uint64_t *seed)
{
	double without[1000], with[1000];

	for (size_t i = 0; i < n; i++) {
		without[i] = value(0, noise, seed);
		with[i] = value(percent, noise, seed);
	}
	return judge(without, with, n, 5, *seed);
}

static void tally(double percent, double noise, size_t verdicts[3], size_t *held)
{
	uint64_t seed = 88172645463325252;

	memset(verdicts, 0, 3 * sizeof(*verdicts));
	*held = 0;
	for (int i = 0; i < SEEDS; i++) {
		struct judgement j = judged(percent, noise, PAIRS, &seed);

		verdicts[j.verdict]++;
		*held += j.change.low <= percent && percent <= j.change.high;
	}
}

/* Of each known change, all seeds: never the opposite, and with little noise always the truth. */
static void a_known_change_is_called_what_it_is(void **state)
{
	static const struct {
		double percent, noise;
		enum verdict truth;
		size_t least;
	} known[] = {
		{20, 3, BIASED, SEEDS},
		{-20, 3, BIASED, SEEDS},
		{0, 3, UNBIASED, SEEDS * 98 / 100},
		{1, 1, UNBIASED, SEEDS},
		{20, 10, BIASED, SEEDS * 90 / 100},
		{0, 10, UNBIASED, 0},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(known); i++) {
		enum verdict opposite = known[i].truth == BIASED ? UNBIASED : BIASED;
		size_t verdicts[3], held;

		tally(known[i].percent, known[i].noise, verdicts, &held);
		check(!verdicts[opposite] && verdicts[known[i].truth] >= known[i].least,
		      "%+.0f %% in noise of %.0f %%: %zu unbiased, %zu undecided, %zu biased",
		      known[i].percent, known[i].noise, verdicts[UNBIASED], verdicts[UNDECIDED],
		      verdicts[BIASED]);
		check(held >= SEEDS * 90 / 100, "%+.0f %% is in %zu of %d intervals",
		      known[i].percent, held, SEEDS);
	}
}

/* At the limit itself a verdict is a mistake: in either direction one of 40, and some more. */
static void a_change_at_the_limit_is_left_undecided(void **state)
{
	size_t verdicts[3], held;

	(void)state;
	tally(5, 3, verdicts, &held);
	check(verdicts[UNDECIDED] >= SEEDS * 90 / 100 && verdicts[UNDECIDED] < SEEDS,
	      "%zu unbiased, %zu undecided, %zu biased", verdicts[UNBIASED], verdicts[UNDECIDED],
	      verdicts[BIASED]);
}

static void as_many_more_as_it_says_decide(void **state)
{
	size_t undecided = 0, decided = 0;
	uint64_t seed = 88172645463325252;

	(void)state;
	for (int i = 0; i < SEEDS; i++) {
		struct judgement j = judged(2, 10, PAIRS, &seed);

		if (j.verdict != UNDECIDED || j.more > 200)
			continue;
		undecided++;
		decided += judged(2, 10, PAIRS + 2 * j.more, &seed).verdict != UNDECIDED;
	}
	/* It is an estimate from ten pairs: of twice as many, most. */
	check(undecided > 50 && decided > undecided * 6 / 10, "%zu of %zu are decided", decided,
	      undecided);
}

static void how_many_more_is_by_the_root(void **state)
{
	/* All changes are +1 % or +9 %: the interval is that, around 5, which is the limit. */
	static const double without[] = {100, 100, 100, 100, 100, 100};
	static const double at_limit[] = {101, 109, 101, 109, 101, 109};
	/* From 0 to 8 %, 2 % in the middle: the upper end has to come to half its distance. */
	static const double near[] = {100, 100, 102, 102, 108, 108};
	struct judgement j = judge(without, at_limit, 6, 5, 1);

	(void)state;
	assert_int_equal(j.verdict, UNDECIDED);
	assert_int_equal(j.more, JUDGE_MOST);
	j = judge(without, near, 6, 5, 1);
	assert_int_equal(j.verdict, UNDECIDED);
	check(j.change.high > 7.99 && j.change.median > 1.99 && j.change.median < 2.01, "%f to %f",
	      j.change.low, j.change.high);
	/* (6 / 3)^2 = 4 times as many. */
	check(j.more == 18 || j.more == 19, "%lu", j.more);
}

static void bounds_belong_to_the_verdict(void **state)
{
	static const double without[] = {100, 100, 100, 100, 100};
	static const double five[] = {105, 105, 105, 105, 105};
	static const double less[] = {94, 94, 94, 94, 94};

	(void)state;
	assert_int_equal(judge(without, five, 5, 5.001, 1).verdict, UNBIASED);
	assert_int_equal(judge(without, five, 5, 4.999, 1).verdict, BIASED);
	assert_int_equal(judge(without, less, 5, 6.001, 1).verdict, UNBIASED);
	assert_int_equal(judge(without, less, 5, 5.999, 1).verdict, BIASED);
	assert_int_equal(judge(without, without, 5, 0.000001, 1).verdict, UNBIASED);
}

static void pairs_are_compared_not_runs(void **state)
{
	/* A machine that slows down: each pair differs by a tenth, runs by ten times. */
	static const double without[] = {100, 200, 400, 800, 1000};
	static const double with[] = {110, 220, 440, 880, 1100};
	struct judgement j = judge(without, with, 5, 5, 1);

	(void)state;
	assert_int_equal(j.verdict, BIASED);
	check(j.change.low > 9.999 && j.change.high < 10.001, "%f to %f", j.change.low,
	      j.change.high);
	assert_true(j.without == 400 && j.with == 440);
}

/* --- what is read --- */

static void the_pid_goes_where_it_is_wanted(void **state)
{
	static const struct {
		const char *tool, *line;
	} known[] = {
		{"syscall-latency", "exec syscall-latency"},
		{"syscall-latency -p {}", "exec syscall-latency -p 4711"},
		{"{} a{}b{}", "exec 4711 a4711b4711"},
		{"awk '{ }' {", "exec awk '{ }' {"},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(known); i++) {
		char *line = run_tool_line(known[i].tool, 4711);

		assert_string_equal(line, known[i].line);
		free(line);
	}
}

static void a_metric_is_what_the_group_matches(void **state)
{
	static const struct {
		const char *regex, *line, *text; /* NULL: it does not match */
	} known[] = {
		{"ops/s: ([0-9.]+)", "run: ops/s: 12.5 or so", "12.5"},
		{"ops/s: ([0-9.]+)", "ops/s: none", NULL},
		{"^([0-9]+) (op|call)s", "17 calls", "17"},
		{"a|b([0-9]+)", "a", NULL},
		{"b([0-9]*)", "b", ""},
		{"(.*)", "\303\244", "\303\244"},
	};
	char text[16];
	regex_t regex;

	(void)state;
	for (size_t i = 0; i < LENGTH(known); i++) {
		bool found;

		strcpy(text, "before");
		assert_int_equal(regcomp(&regex, known[i].regex, REG_EXTENDED), 0);
		found = metric_find(&regex, known[i].line, text, sizeof(text));
		check(found == !!known[i].text, "'%s' in '%s'", known[i].regex, known[i].line);
		assert_string_equal(text, known[i].text ?: "before");
		regfree(&regex);
	}
}

static void a_metric_is_a_number_above_0(void **state)
{
	static const char *const wrong[] = {"",    " ",   "0",     "-1",  "0.0", "1,234", "12ms",
					    "inf", "nan", "1e999", "abc", "1 ",  "0x10"};
	double number = 7;

	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++)
		check(metric_parse(wrong[i], &number) == -EINVAL && number == 7, "'%s'", wrong[i]);
	assert_int_equal(metric_parse("1234.5", &number), 0);
	assert_true(number == 1234.5);
	assert_int_equal(metric_parse("2e-3", &number), 0);
	assert_true(number == 2e-3);
}

static void note_line(const char *line, void *context)
{
	strcat(strcat(context, line), "|");
}

static void output_is_cut_into_lines(void **state)
{
	static const char output[] = "one\ntwo\r\n\nthree\r  33%\r 100%\nlast";
	char text[6000], *beyond;

	(void)state;
	for (size_t piece = 1; piece < sizeof(output); piece++) {
		struct lines l = {.each = note_line, .context = text};

		*text = 0;
		for (size_t i = 0; i < sizeof(output) - 1; i += piece) {
			size_t left = sizeof(output) - 1 - i;

			lines_feed(&l, output + i, left < piece ? left : piece);
		}
		assert_string_equal(text, "one|two|three|  33%| 100%|");
		lines_end(&l);
		assert_string_equal(text, "one|two|three|  33%| 100%|last|");
	}
	/* Of a line without end, the beginning. */
	{
		struct lines l = {.each = note_line, .context = text};

		*text = 0;
		for (int i = 0; i < 100000; i++)
			lines_feed(&l, "x", 1);
		lines_feed(&l, "\nnext\n", 6);
	}
	beyond = strchr(text, '|');
	assert_int_equal(beyond - text, sizeof(((struct lines *)0)->text) - 1);
	assert_string_equal(beyond, "|next|");
}

/* --- notes, of a machine that is made up --- */

static char root[] = "/tmp/trace-bias.XXXXXX";

/* Creates the directories above, too. */
static void put(const char *path, const char *text)
{
	char whole[256];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *slash = whole + sizeof(root); (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(whole, 0755);
		*slash = '/';
	}
	f = fopen(whole, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

#define CPU "/sys/devices/system/cpu/"

static const char stat_before[] = "cpu  100 0 100 700 0 0 0 100 0 0\ncpu0 1 2 3\n";

static void quiet_machine(void)
{
	put(CPU "cpufreq/policy0/scaling_governor", "performance\n");
	put(CPU "cpufreq/policy0/scaling_cur_freq", "3000000\n");
	put(CPU "cpufreq/policy1/scaling_governor", "performance\n");
	put(CPU "cpufreq/policy1/scaling_cur_freq", "3000000\n");
	put(CPU "cpufreq/boost", "0\n");
	put(CPU "intel_pstate/no_turbo", "1\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	put("/proc/loadavg", "1.50 0.70 0.25 1/164 4711\n");
	put("/proc/stat", stat_before);
}

static void expect_notes(const struct notes *n, const char *const *wanted, size_t count)
{
	json_t *list = notes_list(n);

	for (size_t i = 0; i < count; i++)
		assert_string_equal(json_string_value(json_array_get(list, i)) ?: "none",
				    wanted[i]);
	assert_int_equal(json_array_size(list), count);
	json_decref(list);
}

static void of_a_quiet_machine_nothing_is_noted(void **state)
{
	struct notes n;

	(void)state;
	quiet_machine();
	notes_begin(&n, root);
	notes_run_begins(&n);
	notes_run_ended(&n);
	put("/proc/stat", "cpu  200 0 200 1400 0 0 0 100 0 0\n");
	expect_notes(&n, NULL, 0);
	/* Nor where the kernel tells nothing. */
	notes_begin(&n, "/nonexistent");
	notes_run_begins(&n);
	notes_run_ended(&n);
	expect_notes(&n, NULL, 0);
}

static void what_is_seen_is_noted(void **state)
{
	static const char *const wanted[] = {
		"frequency scaling: the governor is schedutil, not performance",
		"frequency: CPUs were at 1200 to 3400 MHz as runs ended",
		"turbo is on: the frequency depends on load and heat",
		"migration: the workload changed CPUs 2 times without the tool, 5 with it",
		"load: other threads ran as 1 of 2 runs began",
		"steal: the hypervisor kept 10.0 % of the CPUs' time",
		"clock: hpet, not the CPU's own counter: tracers read it",
	};
	struct notes n;

	(void)state;
	quiet_machine();
	notes_begin(&n, root);
	notes_run_begins(&n);
	put(CPU "cpufreq/policy1/scaling_cur_freq", "3400000\n");
	notes_run_ended(&n);
	put("/proc/loadavg", "1.50 0.70 0.25 2/164 4711\n");
	notes_run_begins(&n);
	put(CPU "cpufreq/policy0/scaling_cur_freq", "1200000\n");
	notes_run_ended(&n);
	n.migrations[0] = 2;
	n.migrations[1] = 5;
	put(CPU "cpufreq/policy1/scaling_governor", "schedutil\n");
	put(CPU "cpufreq/boost", "1\n");
	put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	put("/proc/stat", "cpu  500 0 500 800 0 0 0 200 0 0\n");
	expect_notes(&n, wanted, LENGTH(wanted));
}

static void turbo_has_two_switches(void **state)
{
	static const char *const wanted[] = {"turbo is on: the frequency depends on load and heat"};
	struct notes n;

	(void)state;
	quiet_machine();
	put(CPU "intel_pstate/no_turbo", "0\n");
	notes_begin(&n, root);
	expect_notes(&n, wanted, 1);
}

static int make_root(void **state)
{
	(void)state;
	return !mkdtemp(root);
}

static int remove_root(void **state)
{
	static const char *const made[] = {
		CPU "cpufreq/policy0/scaling_governor",
		CPU "cpufreq/policy0/scaling_cur_freq",
		CPU "cpufreq/policy1/scaling_governor",
		CPU "cpufreq/policy1/scaling_cur_freq",
		CPU "cpufreq/boost",
		CPU "intel_pstate/no_turbo",
		"/sys/devices/system/clocksource/clocksource0/current_clocksource",
		"/proc/loadavg",
		"/proc/stat",
	};
	char path[256];

	(void)state;
	for (size_t i = 0; i < LENGTH(made); i++) {
		snprintf(path, sizeof(path), "%s%s", root, made[i]);
		unlink(path);
		/* And the directories that this leaves empty. */
		while (strlen(path) > sizeof(root) - 1) {
			*strrchr(path, '/') = 0;
			rmdir(path);
		}
	}
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_known_change_is_called_what_it_is),
		cmocka_unit_test(a_change_at_the_limit_is_left_undecided),
		cmocka_unit_test(as_many_more_as_it_says_decide),
		cmocka_unit_test(how_many_more_is_by_the_root),
		cmocka_unit_test(bounds_belong_to_the_verdict),
		cmocka_unit_test(pairs_are_compared_not_runs),
		cmocka_unit_test(the_pid_goes_where_it_is_wanted),
		cmocka_unit_test(a_metric_is_what_the_group_matches),
		cmocka_unit_test(a_metric_is_a_number_above_0),
		cmocka_unit_test(output_is_cut_into_lines),
		cmocka_unit_test(of_a_quiet_machine_nothing_is_noted),
		cmocka_unit_test(what_is_seen_is_noted),
		cmocka_unit_test(turbo_has_two_switches),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
