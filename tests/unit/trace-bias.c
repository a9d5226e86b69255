// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* trace-bias: what is read of tool, workload and machine. */
#include "unit.h"
#include "notes.h"
#include "process.h"
#include "run.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

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

	quiet_machine();
	put(CPU "intel_pstate/no_turbo", "0\n");
	notes_begin(&n, root);
	expect_notes(&n, wanted, 1);
}

static int make_root(void **state)
{
	return !mkdtemp(root);
}

static int remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
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
