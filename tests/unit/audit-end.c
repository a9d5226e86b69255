// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* audit end: how a run ended, also one that was killed or went on for too long. */
#include "audit.h"
#include <signal.h>
#include <time.h>
#include <plumb/core/cli.h>

static const struct end {
	int status; /* of the run */
	const char *how;
	int signal, code;
	const char *ended, *signal_name;
} ends[] = {
	{0, NULL, 0, 0, "\"exit\"", "null"},
	{1, NULL, 0, 0, "\"error\"", "null"},
	{2, NULL, 0, 0, "\"error\"", "null"},
	{PLUMB_EXIT_UNSUPPORTED, NULL, 0, 0, "\"refused\"", "null"},
	{0, "duration", 0, 0, "\"duration\"", "null"},
	{3, "count", 0, 0, "\"count\"", "null"},
	{0, NULL, SIGINT, SI_USER, "\"signal\"", "\"SIGINT\""},
	{0, NULL, SIGTERM, SI_USER, "\"signal\"", "\"SIGTERM\""},
	{0, NULL, SIGTERM, SI_TIMER, "\"max-duration\"", "null"},
	/* The first counts. */
	{0, "command", SIGINT, SI_USER, "\"command\"", "null"},
};

static const struct end *expected;

static int ends_so(void)
{
	if (expected->how)
		plumb_audit_ended(expected->how);
	if (expected->signal)
		plumb_audit_ended_by(expected->signal, expected->code);
	plumb_audit_ended("later");
	return expected->status;
}

static int ends_without_a_word(void)
{
	return expected->status;
}

static void ends_are_told(void **state)
{
	json_t *last;

	for (expected = ends; expected < ends + LENGTH(ends); expected++) {
		unlink(LOG);
		assert_int_equal(run_apart(expected->how || expected->signal ? ends_so
									     : ends_without_a_word),
				 expected->status);
		assert_string_equal(events_of(LOG), "begin end");
		last = last_of(LOG);
		check(!strcmp(shown(last, "ended"), expected->ended), "%s", expected->ended);
		check(!strcmp(shown(last, "signal"), expected->signal_name), "%s",
		      shown(last, "signal"));
		assert_int_equal(json_integer_value(json_object_get(last, "status")),
				 expected->status);
		assert_string_equal(shown(last, "detached"), "null");
		json_decref(last);
	}
}

static int is_killed(void)
{
	return raise(SIGKILL);
}

static int crashes(void)
{
	signal(SIGSEGV, SIG_DFL); /* cmocka has taken it */
	return raise(SIGSEGV);
}

static int is_ended(void)
{
	return raise(SIGTERM);
}

/* Another process writes it, when the tool has ended. */
static json_t *end_of_killed(int (*f)(void), int signal)
{
	unlink(LOG);
	assert_int_equal(run_apart(f), -signal);
	for (int i = 0; i < 6000 && strcmp(events_of(LOG), "begin end") != 0; i++)
		usleep(10000);
	return last_of(LOG);
}

static void the_end_of_a_killed_run_is_told(void **state)
{
	json_t *last = end_of_killed(is_killed, SIGKILL);

	assert_string_equal(text_of(last, "event"), "end");
	assert_string_equal(text_of(last, "ended"), "killed");
	assert_string_equal(shown(last, "status"), "null");
	assert_string_equal(shown(last, "events"), "null");
	json_decref(last);
	last = end_of_killed(crashes, SIGSEGV);
	assert_string_equal(text_of(last, "ended"), "killed");
	json_decref(last);
	last = end_of_killed(is_ended, SIGTERM);
	assert_string_equal(text_of(last, "ended"), "signal");
	assert_string_equal(text_of(last, "signal"), "SIGTERM");
	json_decref(last);
}

static uint64_t events, lost;
static bool lost_is_known;

static int counts(void)
{
	plumb_audit_counted(events, lost, lost_is_known);
	return 0;
}

static void what_was_counted(void **state)
{
	json_t *last;

	events = (1ULL << 53) + 1;
	lost = 7;
	for (int known = 0; known < 2; known++) {
		lost_is_known = known;
		unlink(LOG);
		assert_int_equal(run_apart(counts), 0);
		last = last_of(LOG);
		assert_string_equal(shown(last, "events"), "9007199254740993");
		assert_string_equal(shown(last, "lost"), known ? "7" : "null");
		json_decref(last);
	}
}

static int has_a_child(void)
{
	pid_t child = fork();

	if (!child)
		exit(5);
	return waitpid(child, NULL, 0) != child;
}

static void a_child_of_the_tool_ends_no_run(void **state)
{
	unlink(LOG);
	assert_int_equal(run_apart(has_a_child), 0);
	assert_string_equal(events_of(LOG), "begin end");
}

/* --- max-duration --- */

static uint64_t boot_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Ten seconds more than the limit; before the trace, a minute more, of which this takes a part. */
static int has_deadline(void)
{
	const uint64_t begun = boot_time(), first = plumb_audit_deadline();
	uint64_t second;

	if (!plumb_audit_watcher() || first > begun + 170000000000)
		return 2;
	plumb_audit_begin_limit();
	second = plumb_audit_deadline();
	if (second < begun + 110000000000 || second > boot_time() + 110000000000 ||
	    first < second + 30000000000)
		return 3;
	if (plumb_audit_end_limit() || plumb_audit_deadline())
		return 4;
	return plumb_audit_check();
}

static void the_limit_is_that_of_the_policy(void **state)
{
	have_policy("max-duration=100s\n");
	assert_int_equal(run_apart(has_deadline), 0);
	unlink(POLICY);
}

static int waits(void)
{
	plumb_audit_begin_limit();
	return pause();
}

/* Has no report, however it took the signal. */
static int is_late(void)
{
	signal(SIGTERM, SIG_IGN);
	plumb_audit_begin_limit();
	while (!plumb_audit_check())
		usleep(100000);
	return 0;
}

static void at_the_limit_a_run_ends(void **state)
{
	json_t *last;

	have_policy("max-duration=1s\n");
	last = end_of_killed(waits, SIGTERM);
	assert_string_equal(text_of(last, "ended"), "max-duration");
	assert_string_equal(shown(last, "signal"), "null");
	json_decref(last);
	unlink(LOG);
	assert_int_equal(run_apart(is_late), PLUMB_EXIT_FAILED);
	assert_string_equal(complaint, "audit-end: the trace went on after max-duration of "
				       "/etc/plumb/policy: nothing is reported\n");
	last = last_of(LOG);
	assert_string_equal(text_of(last, "ended"), "max-duration");
	assert_string_equal(shown(last, "status"), "1");
	json_decref(last);
	unlink(POLICY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_are_told),
		cmocka_unit_test(the_end_of_a_killed_run_is_told),
		cmocka_unit_test(what_was_counted),
		cmocka_unit_test(a_child_of_the_tool_ends_no_run),
		cmocka_unit_test(the_limit_is_that_of_the_policy),
		cmocka_unit_test(at_the_limit_a_run_ends),
	};

	have_own_etc();
	return run_all(tests);
}
