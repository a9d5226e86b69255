/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <plumb/core/cli.h>
#include <plumb/core/json.h>
#include <plumb/core/log.h>
#include <plumb/core/text.h>
#include <plumb/cost/costs.h>
#include <plumb/guard/audit.h>
#include <plumb/guard/confine.h>
#include <plumb/guard/policy.h>
#include <plumb/terminal/text-table.h>

#include "mechanisms.h"

#define MAX_RATE 1000000000000

static __u64 asked_rounds = MIN_ROUNDS;
static unsigned int rounds;
static __u64 rate; /* 0: not asked for */
static bool as_json;
static unsigned int slowed; /* measurements during which others had statistics on */
static struct timespec start, end;

/* clang-format off */
static const struct plumb_option options[] = {
	{.doc = "Output:", .group = 40},
	{"rate", 0, "N", "also report the share of a CPU that N fires a second take", 40, .number = &rate, .min = 1, .max = MAX_RATE},
	{"json", 'j', NULL, "print one JSON line", 40, .given = &as_json},
	{.doc = "Measurement:", .group = 60},
	{"rounds", 'r', "N", "measure each probe N times, 5 (default) to 1000", 60, .number = &asked_rounds, .min = MIN_ROUNDS, .max = MAX_ROUNDS},
	{0},
};
/* clang-format on */

static const char *body_of(const struct mechanism *m, int body)
{
	return is_bystander(m) ? "syscall" : bodies[body];
}

static json_t *json_row(const struct mechanism *m, int body)
{
	const struct plumb_interval *c = &m->cost[body];
	json_t *row;

	if (*m->why)
		return json_pack("{s:s, s:o}", "mechanism", m->name, "refused",
				 plumb_json_text(m->why));
	row = json_pack("{s:s, s:s, s:f, s:f, s:f}", "mechanism", m->name, "body", body_of(m, body),
			"ns", c->median, "low", c->low, "high", c->high);
	if (rate > 0)
		json_object_set_new(row, "cpu_percent",
				    json_real(plumb_cost_percent(c->median, rate)));
	return row;
}

static json_t *json_report(void)
{
	json_t *line = plumb_json_new("probe-cost"), *rows = json_array();

	plumb_costs_describe(line);
	json_object_set_new(line, "start", plumb_json_time(&start));
	json_object_set_new(line, "end", plumb_json_time(&end));
	json_object_set_new(line, "rounds", json_integer(rounds));
	json_object_set_new(line, "slowed", json_integer(slowed));
	if (rate > 0)
		json_object_set_new(line, "rate", json_real(rate));
	for (const struct mechanism *m = mechanisms; m < mechanisms + n_mechanisms; m++)
		for (int body = 0; body < (*m->why ? 1 : bodies_of(m)); body++)
			json_array_append_new(rows, json_row(m, body));
	json_object_set_new(line, "rows", rows);
	return line;
}

static bool any_refused(void)
{
	for (const struct mechanism *m = mechanisms; m < mechanisms + n_mechanisms; m++)
		if (*m->why)
			return true;
	return false;
}

static void add_figure(struct plumb_text_table *g, double ns)
{
	plumb_text_table_cell(g, "%.*f", ns < 999.95, ns);
}

static void add_row(struct plumb_text_table *g, const struct mechanism *m, int body)
{
	const struct plumb_interval *c = &m->cost[body];
	char percent[32];

	plumb_text_table_cell(g, "%s", m->name);
	if (*m->why) {
		for (int i = 0; i < 4 + (rate > 0); i++)
			plumb_text_table_cell(g, "-");
		plumb_text_table_cell(g, "%s", m->why);
		return;
	}
	plumb_text_table_cell(g, "%s", body_of(m, body));
	add_figure(g, c->median);
	add_figure(g, c->low);
	add_figure(g, c->high);
	if (rate > 0)
		plumb_text_table_cell(g, "%s",
				      plumb_format_percent(plumb_cost_percent(c->median, rate),
							   percent, sizeof(percent)));
	if (any_refused())
		plumb_text_table_cell(g, "%s", "");
}

static void print_table(void)
{
	const char *headings[7] = {"MECHANISM", "BODY", ">NS", ">LOW", ">HIGH"};
	size_t n = 5;
	struct plumb_text_table *g;

	if (rate > 0)
		headings[n++] = ">%CPU";
	if (any_refused())
		headings[n++] = "REFUSED";
	g = plumb_text_table_new(headings, n);
	for (const struct mechanism *m = mechanisms; m < mechanisms + n_mechanisms; m++)
		for (int body = 0; body < (*m->why ? 1 : bodies_of(m)); body++)
			add_row(g, m, body);
	plumb_text_table_print(g, stdout);
	plumb_text_table_free(g);
	printf("NS: what a fire adds, the median of %u interleaved rounds; LOW to HIGH: 95 %%\n",
	       rounds);
	if (rate > 0)
		printf("%%CPU: of one CPU, at %llu fires a second\n", rate);
}

/*
 * Without a filter of system calls, with which all of them would take the kernel's slow path: what
 * a tracepoint of another call adds could not be measured.
 */
static int give_up(void)
{
	return plumb_give_up(PLUMB_CAP(BPF) | PLUMB_CAP(PERFMON) | PLUMB_CAP(SYS_ADMIN) |
			     PLUMB_CAP(DAC_READ_SEARCH) | PLUMB_CAP(DAC_OVERRIDE) |
			     PLUMB_CAP(FOWNER));
}

static volatile sig_atomic_t over;

/* At the policy's limit; any other ends the tool, as it would without a handler. */
static void at_signal(int number, siginfo_t *info, void *context)
{
	if (info->si_code == SI_TIMER) {
		over = true;
		return;
	}
	signal(number, SIG_DFL);
	raise(number);
}

static int run(void)
{
	const struct sigaction end_early = {.sa_sigaction = at_signal,
					    .sa_flags = SA_SIGINFO | SA_RESTART};
	const unsigned int wanted = rounds;
	bool any;
	json_t *line;

	clock_gettime(CLOCK_REALTIME, &start);
	mechanisms_open();
	if (mechanisms_leave_record() || give_up())
		return PLUMB_EXIT_FAILED;
	sigaction(SIGTERM, &end_early, NULL);
	plumb_audit_begin_limit();
	any = measure_all(&rounds, &slowed, &over);
	if (over) {
		plumb_audit_ended_by(SIGTERM, SI_TIMER);
		plumb_warn("max-duration of " PLUMB_POLICY_FILE " ended it after %u of %u rounds%s",
			   rounds, wanted, rounds < MIN_ROUNDS ? ": too few for figures" : "");
	}
	if (over && rounds < MIN_ROUNDS)
		return PLUMB_EXIT_FAILED;
	if (!any) {
		for (const struct mechanism *m = mechanisms; m < mechanisms + n_mechanisms; m++)
			plumb_warn("%s refused: %s", m->name, m->why);
		return PLUMB_EXIT_UNSUPPORTED;
	}
	clock_gettime(CLOCK_REALTIME, &end);
	plumb_audit_detached();
	if (plumb_audit_check() || plumb_audit_end_limit())
		return PLUMB_EXIT_FAILED;
	if (slowed)
		plumb_warn("BPF run-time statistics were enabled by another process in %u "
			   "measurements: "
			   "their figures are higher",
			   slowed);
	plumb_costs_begin();
	if (plumb_confine())
		return PLUMB_EXIT_FAILED;
	line = json_report();
	plumb_costs_end(line);
	if (as_json) {
		plumb_json_print(line, stdout); /* a write error is reported at exit */
	} else {
		json_decref(line);
		print_table();
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct plumb_cli cli = {
		.name = "probe-cost",
		.summary = "Measure the cost of a probe on this host, by mechanism.",
		.about =
			"hooks:     the tracepoint task:task_rename, the function of the system "
			"call\n"
			"           sched_get_priority_max, a function in the tool; one at a time\n"
			"kernels:   5.10, 6.1, 6.12, 7.2 emulated, 6.18 locked down (without "
			"kernel\n"
			"           functions); x86_64\n"
			"fire rate: as fast as one thread can fire, for a few milliseconds at a "
			"time\n"
			"cost:      only for threads that fire the hooks while they are measured\n",
		.usage = "",
		.options = options,
	};
	int status;

	plumb_cli_parse(&cli, argc, argv);
	rounds = asked_rounds;
	if (!plumb_may_trace())
		return PLUMB_EXIT_FAILED;
	status = run();
	plumb_costs_end(NULL);
	mechanisms_close();
	return plumb_close_stdout(status);
}
